import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Screen } from "./screen.js";
import "./search-bar.css";

/** Looks for a text on a screen. Enter goes on, Shift+Enter goes back, Escape ends. */
export function SearchBar({
  screen,
  isWhole,
  onClose,
}: {
  screen: Screen | undefined;
  /** Whether the screen has all of the output. */
  isWhole: boolean;
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
        class="small"
        type="button"
        onClick={() => {
          find(text, "previous");
        }}
      >
        Previous
      </button>
      <button class="small">Next</button>
      <span role="status">
        {missed ? (isWhole ? "Not found" : "Not found in what is loaded") : ""}
      </span>
    </form>
  );
}
