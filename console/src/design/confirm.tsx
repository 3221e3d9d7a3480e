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
  const isOver = useRef(false);
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  // At once: the event that a dialog has closed comes later, and would close one that was opened meanwhile.
  const close = () => {
    if (isOver.current) return;
    isOver.current = true;
    dialog.current?.close();
    onClose();
  };
  return (
    <dialog
      ref={dialog}
      class="confirm"
      aria-labelledby="confirm-title"
      onCancel={close}
      onClose={close}
    >
      <h2 id="confirm-title">{title}</h2>
      <p>{children}</p>
      <div class="confirm-actions">
        <button onClick={close}>Cancel</button>
        <button
          class="danger"
          onClick={() => {
            close();
            onConfirm();
          }}
        >
          {action}
        </button>
      </div>
    </dialog>
  );
}
