import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Screen } from "./screen.js";

/** Looks for a text on a screen. Enter goes on, Shift+Enter goes back, Escape ends. */
export function SearchBar({
  screen,
  onClose,
}: {
  screen: Screen | undefined;
  onClose: () => void;
}) {
  const [text, setText] = useState("");
  const [missed, setMissed] = useState(false);
  const input = useRef<HTMLInputElement>(null);

  // At once: what is typed next may be meant for another field.
  useLayoutEffect(() => {
    input.current?.focus();
  }, []);

  const find = (wanted: string, direction: "next" | "previous") => {
    if (screen === undefined) return;
    if (wanted === "") screen.endSearch();
    setMissed(wanted !== "" && !screen.find(wanted, direction));
  };
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        find(text, "next");
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          screen?.endSearch();
          onClose();
        } else if (event.key === "Enter" && event.shiftKey) {
          event.preventDefault();
          find(text, "previous");
        }
      }}
    >
      <label>
        <span class="unseen">Find in the output</span>
        <input
          ref={input}
          type="search"
          placeholder="Find"
          spellcheck={false}
          onInput={(event) => {
            setText(event.currentTarget.value);
            find(event.currentTarget.value, "next");
          }}
        />
      </label>
      <button
        type="button"
        onClick={() => {
          find(text, "previous");
        }}
      >
        Previous
      </button>
      <button>Next</button>
      <span role="status">{missed ? "Not found" : ""}</span>
    </form>
  );
}
