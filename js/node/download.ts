import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";

import { onAbort, throwIfAborted } from "../abort.js";
import { checkText } from "../arguments.js";
import { InvalidArgumentError } from "../core/errors.js";
import type { Batches, FileInfo } from "../core/sandpipe.js";
import type { FilePath } from "../file-data.js";
import { READ_TREE } from "../node-parts.js";
import type { Sandbox } from "../sandbox.js";
import { settle } from "../settle.js";
import { orAborted } from "./or-aborted.js";
import { partsOf } from "./parts.js";
import { systemError } from "./system-error.js";
import { HeldDirectory } from "./trees/held-directory.js";
import { checkTransfer, type Transfer, type TransferOptions } from "./trees/options.js";

/**
 * Downloads a file, or a directory with all that is in it, from the sandbox: `local` is what the file or the directory is called here. A
 * directory that is there is kept, with what else is in it; directories above are made.
 *
 * Each file is written beside its place and takes it whole. Modes and times are kept, and symbolic links, which are not followed: nothing
 * is written outside of `local`, whatever the sandbox sends, and whatever is exchanged here meanwhile. Owners are not kept, nor what is no file, directory or link. Memory is bounded,
 * whatever the size. A file goes on where a connection broke; a directory, which is a tar stream, is read from its beginning again, as
 * far as `retry` of `connect()` allows. A file takes the place of a symbolic link; what is neither file nor directory, such as a device, is
 * refused. So are names and targets of links that are not UTF-8.
 *
 * @throws {UnsupportedError} A directory needs the extension `files-raw`, which the agent lacks.
 * @throws {HttpError} The agent could not read it: with status 404 where there is nothing.
 * @throws {FileChangedError} The file was changed meanwhile.
 * @throws {InvalidArgumentError} An argument is wrong.
 * @throws {SystemError} A file can't be written.
 * @throws {ProtocolError} A name that the sandbox has sent leads out of `local`.
 * @throws {NotTextError} A name is not UTF-8.
 * @throws {InterruptedError} `signal` was aborted.
 * @throws What `onProgress` does.
 */
export async function download(
  sandbox: Sandbox,
  remote: FilePath,
  local: string,
  options?: TransferOptions,
): Promise<void> {
  await downloadTo(sandbox, remote, local, options, true);
}

/**
 * The same.
 *
 * @param isNamed The user has named the whole of `local`: a symbolic link to a directory is followed there.
 */
export async function downloadTo(
  sandbox: Sandbox,
  remote: FilePath,
  local: string,
  options: TransferOptions | undefined,
  isNamed: boolean,
): Promise<void> {
  await downloadAs(sandbox, remote, local, options, isNamed).catch((error: unknown) => {
    throw systemError(error);
  });
}

async function downloadAs(
  sandbox: Sandbox,
  remote: FilePath,
  local: string,
  options: TransferOptions | undefined,
  isNamed: boolean,
): Promise<void> {
  const parts = partsOf(sandbox);
  checkText("local", local);
  const transfer = checkTransfer(options);
  throwIfAborted(transfer.signal);
  const info = await orAborted(sandbox.files.stat(remote, transfer.as), transfer.signal);
  const path = resolve(local);
  if (!info.isDir) {
    await downloadFile(sandbox, remote, info, path, transfer);
    return;
  }
  const root = await holdRoot(path, isNamed);
  try {
    const read = (): Batches<Uint8Array> => parts[READ_TREE](remote, transfer.exclude, transfer.as);
    await downloadTree(read, root, transfer);
  } finally {
    root.close();
  }
}

/** Makes the directory where it is missing. */
async function holdRoot(path: string, isNamed: boolean): Promise<HeldDirectory> {
  if (isNamed) {
    await mkdir(path, { recursive: true });
    return HeldDirectory.hold(path);
  }
  const above = HeldDirectory.hold(dirname(path));
  try {
    mkdirSync(above.path(basename(path)), { recursive: true });
    return above.open(basename(path));
  } catch (error) {
    throw above.named(error);
  } finally {
    above.close();
  }
}

async function downloadFile(
  sandbox: Sandbox,
  remote: FilePath,
  info: FileInfo,
  path: string,
  { onProgress, signal, as }: Transfer,
): Promise<void> {
  await checkTarget(path);
  await mkdir(dirname(path), { recursive: true });
  throwIfAborted(signal);
  const directory = HeldDirectory.hold(dirname(path));
  const temporary = `.sandpipe-${randomUUID()}`;
  const reader = sandbox.files
    .readStream(remote, signal === undefined ? as : { signal, ...as })
    .getReader();
  try {
    const file = await open(directory.path(temporary), "wx", 0o600);
    try {
      let bytes = 0;
      for (;;) {
        const { done, value } = (await reader.read()) as { done: boolean; value?: Uint8Array };
        if (done || value === undefined) break;
        for (let at = 0; at < value.length;) at += (await file.write(value, at)).bytesWritten;
        bytes += value.length;
        onProgress({ files: 0, bytes });
      }
      onProgress({ files: 1, bytes });
      const time = Date.parse(info.modTime) / 1000;
      await file.chmod((info.mode ?? 0o644) & 0o777);
      if (Number.isFinite(time)) await file.utimes(time, time);
    } finally {
      await file.close();
    }
    throwIfAborted(signal);
    await rename(directory.path(temporary), directory.path(basename(path)));
    directory.check();
  } catch (error) {
    await reader.cancel().catch(() => undefined);
    await removeIn(directory, temporary);
    throw directory.named(error);
  } finally {
    directory.close();
  }
}

/** Removes a file of its own, unless the directory is another one by now. */
async function removeIn(directory: HeldDirectory, name: string): Promise<void> {
  try {
    await rm(directory.path(name), { force: true });
  } catch {
    // Why the call fails says more.
  }
}

/** @throws {InvalidArgumentError} A file would take the place of something else, such as a device. */
async function checkTarget(path: string): Promise<void> {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined || stats.isFile() || stats.isDirectory()) return;
  throw new InvalidArgumentError(
    `\`local\` must be a file, a directory or a new name, but is something else: ${path}`,
  );
}

/** The stream begins again: what came before is not part of it. */
class BegunAgain extends Error {}

async function downloadTree(
  read: () => Batches<Uint8Array>,
  root: HeldDirectory,
  { onProgress, signal }: Transfer,
): Promise<void> {
  // It packs and unpacks, which no other call needs.
  const { unpackTree } = await import("./trees/unpack.js");
  throwIfAborted(signal);
  const batches = read();
  const endListening = onAbort(signal, () => {
    batches.close();
  });
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const [chunk] = (await settle(batches.next())) ?? [];
      throwIfAborted(signal);
      if (chunk === undefined) return;
      if (chunk.length === 0) throw new BegunAgain();
      yield chunk;
    }
  }
  try {
    for (let isWhole = false; !isWhole;) {
      const written = { files: 0, bytes: 0 };
      try {
        await unpackTree(chunks(), root, ({ bytes, isFile }) => {
          written.bytes += bytes;
          written.files += isFile ? 1 : 0;
          onProgress({ ...written });
        });
        // After its last chunk, too.
        throwIfAborted(signal);
        isWhole = true;
      } catch (error) {
        if (!(error instanceof BegunAgain)) throw error;
      }
    }
  } finally {
    endListening();
    batches.close();
  }
}
