import { useState } from "preact/hooks";
import { screenReaderMode, setScreenReaderMode } from "./terminal/screen.js";

/** How the page is used without a mouse, and with a screen reader. */
export function KeyboardHelp() {
  const [on, setOn] = useState(screenReaderMode);
  return (
    <footer>
      <details>
        <summary>Keyboard and screen readers</summary>
        <ul>
          <li>
            <kbd>↑</kbd> and <kbd>↓</kbd> go from command to command in the list; <kbd>Enter</kbd>{" "}
            opens the output.
          </li>
          <li>
            In an output, <kbd>↑</kbd> <kbd>↓</kbd> <kbd>Page up</kbd> <kbd>Page down</kbd>{" "}
            <kbd>Home</kbd> <kbd>End</kbd> scroll; <kbd>Tab</kbd> goes on.
          </li>
          <li>
            A terminal takes every key but <kbd>Ctrl</kbd>+<kbd>Shift</kbd>+<kbd>↑</kbd>, which goes
            to its buttons.
          </li>
          <li>
            In a search, <kbd>Enter</kbd> finds the next place, <kbd>Shift</kbd>+<kbd>Enter</kbd>{" "}
            the one before, <kbd>Esc</kbd> ends it.
          </li>
        </ul>
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
      </details>
    </footer>
  );
}
