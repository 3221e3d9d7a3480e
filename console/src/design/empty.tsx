import type { ComponentChildren } from "preact";
import { Icon, type Picture } from "./icon.js";
import { CopyLine } from "./copy-line.js";
import "./empty.css";

/** What a place is for while there is nothing in it: one thing to do, and one command to paste elsewhere. */
export function Empty({
  icon,
  title,
  children,
  action,
  command,
}: {
  icon: Picture;
  title: string;
  children: ComponentChildren;
  action?: ComponentChildren;
  command?: string;
}) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon of={icon} size={22} />
      </span>
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
      {command !== undefined && <CopyLine text={command} />}
    </div>
  );
}
