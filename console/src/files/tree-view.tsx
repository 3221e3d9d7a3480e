import { useMemo, useState } from "preact/hooks";
import { Rows } from "../design/rows.js";
import { useMedia } from "../media.js";
import { useStore } from "../store.js";
import type { FileActions } from "./actions.js";
import { hasFiles } from "./dropped.js";
import type { FileTree } from "./file-tree.js";
import { parentOf } from "./raw-path.js";
import { rowsOf, type TreeRow } from "./rows.js";
import { TreeRowView } from "./tree-row.js";

/** The files below a directory. ← and → go in and out of directories, Delete asks whether to remove. */
export function TreeView({
  tree,
  root,
  selected,
  actions,
  onDrop,
}: {
  tree: FileTree;
  root: string;
  selected: string | undefined;
  actions: FileActions;
  onDrop: (directory: string, transfer: DataTransfer) => void;
}) {
  const listings = useStore(tree.listings);
  const expanded = useStore(tree.expanded);
  const [current, setCurrent] = useState<string>();
  /** Where what is dragged would be dropped. */
  const [target, setTarget] = useState<string>();
  // A finger is larger than a pointer.
  const rowHeight = useMedia("(hover: none)") ? 44 : 28;
  const rows = useMemo(() => rowsOf(root, listings, expanded), [root, listings, expanded]);

  const toggle = ({ raw, isExpanded }: TreeRow) => {
    if (isExpanded === true) tree.collapse(raw);
    else if (isExpanded === false) tree.expand(raw);
  };
  const press = (row: TreeRow) => {
    if (row.file === undefined) return;
    setCurrent(row.raw);
    // A directory is opened at first, and goes on to be opened and closed.
    if (row.raw === selected || row.isExpanded === false) toggle(row);
    actions.open(row.raw);
  };
  const onKey = (event: KeyboardEvent, row: TreeRow): string | undefined => {
    // The menu of a row has keys of its own.
    if (!(event.target instanceof Element) || !event.target.matches("[data-main]"))
      return undefined;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      press(row);
    } else if (event.key === "Delete" && row.file !== undefined) actions.remove(row.file);
    else if (event.key === "ArrowRight") {
      if (row.isExpanded === false) tree.expand(row.raw);
      else if (row.isExpanded === true) return rows[rows.indexOf(row) + 1]?.raw;
    } else if (event.key === "ArrowLeft") {
      if (row.isExpanded === true) tree.collapse(row.raw);
      else if (row.level > 1) return parentOf(row.raw);
    }
    return undefined;
  };
  const targetOf = (event: DragEvent): string => {
    const element = (event.target as Element).closest<HTMLElement>("[data-file]");
    const row = rows.find(({ raw }) => raw === element?.dataset["file"]);
    if (row === undefined) return root;
    return row.isExpanded === undefined ? parentOf(row.raw) : row.raw;
  };
  return (
    <div
      class={`file-tree${target === root ? " target" : ""}`}
      onDragOver={(event) => {
        if (!hasFiles(event.dataTransfer)) return;
        event.preventDefault();
        setTarget(targetOf(event));
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setTarget(undefined);
      }}
      onDrop={(event) => {
        if (!hasFiles(event.dataTransfer)) return;
        event.preventDefault();
        setTarget(undefined);
        onDrop(targetOf(event), event.dataTransfer);
      }}
    >
      <Rows
        role="tree"
        label="Files"
        items={rows}
        idOf={({ raw }) => raw}
        rowHeight={rowHeight}
        current={current ?? selected}
        onCurrent={setCurrent}
        onKey={onKey}
      >
        {(row, isCurrent) => (
          <TreeRowView
            row={row}
            isSelected={row.raw === selected}
            isCurrent={isCurrent}
            isTarget={row.raw === target}
            actions={actions}
            onPress={() => {
              press(row);
            }}
            onToggle={() => {
              toggle(row);
            }}
          />
        )}
      </Rows>
    </div>
  );
}
