import { useEffect } from "preact/hooks";
import { isTyping } from "./help.js";

/** Has keys go to the control that is marked with them, `data-shortcut`, where they mean no character. */
export function useShortcuts(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const marked = `[data-shortcut="${CSS.escape(event.key)}"]`;
      const all = document.querySelectorAll<HTMLElement>(marked);
      const control = [...all].find((element) => element.offsetParent !== null);
      if (control === undefined) return;
      event.preventDefault();
      if (!(control instanceof HTMLButtonElement)) {
        // At once: what is typed next is for it.
        control.focus();
        return;
      }
      control.click();
      // What was collapsed is there with the next frame.
      requestAnimationFrame(() => {
        document.querySelector<HTMLElement>(`${marked}:not(button)`)?.focus();
      });
    };
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("keydown", onKey);
    };
  }, []);
}
