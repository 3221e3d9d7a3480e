import { ChevronDown, ChevronRight } from "lucide";
import { Icon } from "../design/icon.js";
import { Menu } from "../design/menu.js";
import { messageOf } from "../message.js";
import { actionsOf, type FileActions } from "./actions.js";
import { FileIcon } from "./file-icon.js";
import type { TreeRow } from "./rows.js";
import { sizeText } from "./size-text.js";

/** A row of the tree. */
export function TreeRowView({
  row,
  isSelected,
  isCurrent,
  isTarget,
  actions,
  onPress,
  onToggle,
}: {
  row: TreeRow;
  isSelected: boolean;
  /** Tab goes to it. */
  isCurrent: boolean;
  /** What is dragged would be dropped into it. */
  isTarget: boolean;
  actions: FileActions;
  onPress: () => void;
  onToggle: () => void;
}) {
  const { file, note, level, isExpanded } = row;
  const name = file?.name ?? "";
  const size = file === undefined || file.isDir ? "" : sizeText(file.size);
  return (
    <div
      class={`file-row${isSelected ? " shown" : ""}${isTarget ? " target" : ""}`}
      style={{ "--level": level }}
      role="treeitem"
      data-main
      data-file={row.raw}
      tabIndex={isCurrent ? 0 : -1}
      aria-label={file === undefined ? undefined : `${name} ${size}`.trim()}
      aria-level={level}
      aria-posinset={row.position}
      aria-setsize={row.count}
      aria-expanded={isExpanded}
      aria-selected={isSelected}
      title={file?.raw === undefined ? name : `The name is not UTF-8: ${file.raw}`}
      onClick={onPress}
    >
      {note !== undefined && (
        <span class="file-note">
          {"error" in note
            ? messageOf(note.error)
            : note.text === "loading"
              ? "Reading…"
              : "Nothing is in it."}
        </span>
      )}
      {file !== undefined && (
        <>
          <span
            class="file-chevron"
            aria-hidden="true"
            onClick={(event) => {
              if (isExpanded === undefined) return;
              event.stopPropagation();
              onToggle();
            }}
          >
            {isExpanded !== undefined && (
              <Icon of={isExpanded ? ChevronDown : ChevronRight} size={14} />
            )}
          </span>
          <FileIcon file={file} {...(isExpanded === undefined ? {} : { isExpanded })} />
          <span class="file-name">{name}</span> <span class="file-size">{size}</span>
          <span class="run-actions">
            <Menu
              label={`Actions: ${name}`}
              isReachable={isCurrent}
              items={() => actionsOf(file, actions)}
            />
          </span>
        </>
      )}
    </div>
  );
}
