import type { ComponentChildren } from "preact";
import "./toast.css";

/** A message at the foot of the page that something was done, and can be undone. */
export function Toast({ children }: { children: ComponentChildren }) {
  return (
    <div class="toast" role="status">
      {children}
    </div>
  );
}
