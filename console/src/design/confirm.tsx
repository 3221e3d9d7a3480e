import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import "./confirm.css";

/** Asks before something is done that can't be undone. Escape is no. */
export function Confirm({
  title,
  children,
  action,
  onConfirm,
  onClose,
}: {
  title: string;
  children: ComponentChildren;
  /** What the button is called that does it. */
  action: string;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="confirm-title" onClose={onClose}>
      <h2 id="confirm-title">{title}</h2>
      <p>{children}</p>
      {/* What is pressed closes the dialog, which says so once. */}
      <form method="dialog">
        <button>Cancel</button>
        <button class="danger" onClick={onConfirm}>
          {action}
        </button>
      </form>
    </dialog>
  );
}
