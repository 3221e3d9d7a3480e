import { Keyboard, X } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../design/icon.js";
import { screenReaderMode, setScreenReaderMode } from "../terminal/reader-mode.js";

const KEYS: readonly [keys: readonly string[], what: string][] = [
  [
    ["n"],
    "goes to the command line; ↑ and ↓ bring what was run before, Shift+Enter begins another line",
  ],
  [["/"], "goes to the search; Enter looks in outputs, too"],
  [
    ["↑", "↓"],
    "go from run to run in the list; Enter opens one, Delete removes one that has ended",
  ],
  [
    ["←", "→"],
    "go from tab to tab, move the line between two parts, and close and open directories of the tree",
  ],
  [["↑", "↓", "Page up", "Page down", "Home", "End"], "scroll an output; Tab goes on"],
  [["Ctrl+Shift+↑"], "leaves a terminal, which takes every other key"],
  [["Enter", "Shift+Enter", "Escape"], "in Find: the next place, the one before, the end of it"],
  [["?"], "shows this"],
];

/** How the page is used without a mouse, and with a screen reader. */
export function Help() {
  const [on, setOn] = useState(screenReaderMode);
  const dialog = useRef<HTMLDialogElement>(null);
  const show = () => {
    if (dialog.current?.open === false) dialog.current.showModal();
  };

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "?" && !isTyping(event.target)) show();
    };
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("keydown", onKey);
    };
  }, []);

  return (
    <>
      <button
        class="quiet square"
        aria-label="Keyboard and screen readers"
        title="Keyboard (?)"
        onClick={show}
      >
        <Icon of={Keyboard} />
      </button>
      <dialog ref={dialog} class="help" aria-labelledby="help-title">
        <div class="help-head">
          <h2 id="help-title">Keyboard and screen readers</h2>
          <form method="dialog">
            <button class="quiet square" aria-label="Close">
              <Icon of={X} />
            </button>
          </form>
        </div>
        <dl>
          {KEYS.map(([keys, what]) => (
            <div key={what}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <label class="check">
          <input
            type="checkbox"
            checked={on}
            onChange={(event) => {
              setOn(event.currentTarget.checked);
              setScreenReaderMode(event.currentTarget.checked);
            }}
          />
          Screen readers read outputs that are opened from now on (slower)
        </label>
      </dialog>
    </>
  );
}

/** Whether a key means a character, and no shortcut. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("input, textarea, select, [contenteditable]");
}
