import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";

import { onAbort, throwIfAborted } from "../abort.js";
import { checkText } from "../arguments.js";
import { InvalidArgumentError } from "../core/errors.js";
import type { FilePath } from "../file-data.js";
import { WRITE_TREE } from "../node-parts.js";
import type { Sandbox } from "../sandbox.js";
import { partsOf } from "./parts.js";
import { systemError } from "./system-error.js";
import { excludedBy } from "./trees/exclude.js";
import { HeldDirectory } from "./trees/held-directory.js";
import { checkTransfer, type Transfer, type TransferOptions } from "./trees/options.js";
import type { PackedFile } from "./trees/pack.js";

export type { TransferOptions, TransferProgress } from "./trees/options.js";

/**
 * Uploads a file, or a directory with all that is in it, to a path in the sandbox: `remote` is what the file or the directory is called
 * there. A directory that is there is kept, with what else is in it; directories above are made.
 *
 * Each file is written whole or not at all. Modes of new files are kept; of a directory also times, and symbolic links, which are not
 * followed; nothing outside of `local` is read, whatever is exchanged in it meanwhile. Owners are not kept, nor what is no file, directory or
 * link. Memory is bounded, whatever the size. A file goes on where a
 * connection broke; a directory, which is a tar stream, is sent from its beginning again, as far as `retry` of `connect()` allows.
 *
 * @throws {UnsupportedError} A directory needs the extension `files-raw`, which the agent lacks.
 * @throws {HttpError} The agent could not write it.
 * @throws {InvalidArgumentError} An argument is wrong.
 * @throws {SystemError} A file can't be read.
 * @throws {FileChangedError} A file or a directory was exchanged meanwhile.
 * @throws {InterruptedError} `signal` was aborted.
 * @throws What `onProgress` does.
 */
export async function upload(
  sandbox: Sandbox,
  local: string,
  remote: FilePath,
  options?: TransferOptions,
): Promise<void> {
  await uploadTo(sandbox, local, remote, options).catch((error: unknown) => {
    throw systemError(error);
  });
}

async function uploadTo(
  sandbox: Sandbox,
  local: string,
  remote: FilePath,
  options: TransferOptions | undefined,
): Promise<void> {
  const parts = partsOf(sandbox);
  checkText("local", local);
  const { exclude, onProgress, signal, as } = checkTransfer(options);
  throwIfAborted(signal);
  const stats = await stat(local);
  if (stats.isFile()) {
    throwIfAborted(signal);
    await uploadFile(sandbox, local, remote, { onProgress, signal, as });
    return;
  }
  if (!stats.isDirectory()) throw isSomethingElse(local);
  // It packs and unpacks, which no other call needs.
  const { packTree } = await import("./trees/pack.js");
  throwIfAborted(signal);
  // What goes wrong here is no failure of the connection, and ends the call.
  const ending = new AbortController();
  let failure: { error: unknown } | undefined;
  const endListening = onAbort(signal, () => {
    ending.abort(signal?.reason);
  });
  // The same one where it is sent once more.
  const root = HeldDirectory.hold(local);
  const pack = (): object => {
    const sent = { files: 0, bytes: 0 };
    const packed = ({ bytes, isFile }: PackedFile): void => {
      sent.bytes += bytes;
      sent.files += isFile ? 1 : 0;
      onProgress({ ...sent });
    };
    return packTree(root, excludedBy(exclude), packed, (error) => {
      failure = { error };
      ending.abort();
    });
  };
  try {
    await parts[WRITE_TREE](remote, pack, { signal: ending.signal, ...as });
  } catch (error) {
    throw (failure as { error: unknown } | undefined)?.error ?? error;
  } finally {
    endListening();
    root.close();
  }
}

async function uploadFile(
  sandbox: Sandbox,
  local: string,
  remote: FilePath,
  { onProgress, signal, as }: Omit<Transfer, "exclude">,
): Promise<void> {
  // A pipe may be in the file's place by now. Windows has none there.
  const waitsForNobody = (constants.O_NONBLOCK as number | undefined) ?? 0;
  const file = await open(local, constants.O_RDONLY | waitsForNobody);
  const stats = await file.stat();
  if (!stats.isFile()) {
    await file.close();
    throw isSomethingElse(local);
  }
  const content = file.createReadStream({ highWaterMark: 256 * 1024 });
  try {
    await sandbox.files.write(remote, content, {
      mode: stats.mode & 0o777,
      onProgress: ({ bytes }) => {
        onProgress({ files: bytes < stats.size ? 0 : 1, bytes });
      },
      ...(signal === undefined ? {} : { signal }),
      ...as,
    });
  } finally {
    // A call that was refused has not read it.
    content.destroy();
  }
}

function isSomethingElse(local: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `\`local\` must be a file or a directory, but is something else: ${local}`,
  );
}
