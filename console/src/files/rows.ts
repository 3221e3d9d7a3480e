import type { FileInfo } from "sandpipe";
import { rawOfFile } from "./raw-path.js";

/** What is in a directory, as far as it is known. */
export interface Listing {
  files: readonly FileInfo[];
  isLoading: boolean;
  error?: unknown;
}

/** A row of the tree: a file, or what there is to say of a directory in place of files. */
export interface TreeRow {
  /** Its path; of a note, one that no file has. */
  raw: string;
  file?: FileInfo;
  note?: { text: "loading" | "empty" } | { error: unknown };
  /** 1 for what is in the root. */
  level: number;
  /** Its place among those of the same directory, from 1 on, and how many there are. */
  position: number;
  count: number;
  /** Whether what is in it is shown; undefined for what is no directory. */
  isExpanded?: boolean;
}

/** The rows of the tree below a root: those of the directories that are expanded, each behind its own. */
export function rowsOf(
  root: string,
  listings: ReadonlyMap<string, Listing>,
  expanded: ReadonlySet<string>,
): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (directory: string, level: number) => {
    const listing = listings.get(directory);
    const note = noteOf(listing);
    if (note !== undefined) {
      rows.push({ raw: `${directory}/?`, note, level, position: 1, count: 1 });
      return;
    }
    const files = listing?.files ?? [];
    for (const [index, file] of files.entries()) {
      const raw = rawOfFile(file);
      const row = { raw, file, level, position: index + 1, count: files.length };
      if (!file.isDir) {
        rows.push(row);
        continue;
      }
      const isExpanded = expanded.has(raw);
      rows.push({ ...row, isExpanded });
      if (isExpanded) add(raw, level + 1);
    }
  };
  add(root, 1);
  return rows;
}

function noteOf(listing: Listing | undefined): TreeRow["note"] {
  if (listing?.error !== undefined) return { error: listing.error };
  if (listing !== undefined && listing.files.length > 0) return undefined;
  return { text: listing === undefined || listing.isLoading ? "loading" : "empty" };
}

/** Directories first, each kind by name as the agent sorts it. */
export function inOrder(files: readonly FileInfo[]): readonly FileInfo[] {
  return [...files.filter(({ isDir }) => isDir), ...files.filter(({ isDir }) => !isDir)];
}
