import type { Source } from "./uploads.js";

/** How many files are taken of what is dropped. */
const MAX_FILES = 10_000;

/** Whether files are dragged, and no text. */
export function hasFiles(transfer: DataTransfer | null): transfer is DataTransfer {
  return transfer?.types.includes("Files") === true;
}

/**
 * The files that were dropped, those in directories with the names of these.
 *
 * @throws {Error} There are very many.
 */
export async function dropped(transfer: DataTransfer): Promise<readonly Source[]> {
  // All at once: what is dropped is gone with the event.
  const items = [...transfer.items].map((item) => ({
    entry: item.webkitGetAsEntry(),
    file: item.getAsFile(),
  }));
  const sources: Source[] = [];
  const add = async (entry: FileSystemEntry, above: string): Promise<void> => {
    if (sources.length > MAX_FILES) {
      throw new Error(
        `These are more than ${MAX_FILES} files. Upload them as an archive, or by sandpipe cp.`,
      );
    }
    const name = above + entry.name;
    if (isFile(entry)) sources.push({ name, file: await fileOf(entry) });
    else for (const child of await childrenOf(entry)) await add(child, `${name}/`);
  };
  for (const { entry, file } of items) {
    if (entry !== null) await add(entry, "");
    // It is on no file system, as what another page gives.
    else if (file !== null) sources.push({ name: file.name, file });
  }
  return sources;
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => {
    entry.file(resolve, reject);
  });
}

async function childrenOf(entry: FileSystemEntry): Promise<readonly FileSystemEntry[]> {
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const children: FileSystemEntry[] = [];
  for (;;) {
    // A browser gives a hundred at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) return children;
    children.push(...some);
  }
}
