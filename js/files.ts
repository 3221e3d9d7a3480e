import { checkSignal } from "./arguments.js";
import {
  Files as Core,
  type FileInfo,
  type ReadStreamOptions,
  type Sandbox,
  type WatchFilesOptions,
  type WriteFileOptions,
} from "./core/sandpipe.js";
import type { FileData, FilePath } from "./file-data.js";
import { fileStream } from "./file-stream.js";
import { FileWatcher } from "./file-watcher.js";
import type { ByteStream } from "./platform.js";

/**
 * The files of a sandbox. A path is absolute, or relative to the agent's workspace; any {@link FileInfo} stands for its own
 * path. All is done with the rights of the agent's default user, or of `options.user`, and of its policy.
 *
 * Each call says what it throws; all throw {@link HttpError} as well: with status 404 where there is no such file, 400 where it
 * is of the wrong kind, 403 where it may not be read or written, 409 where something else is there, 507 where there is no
 * room.
 */
export class Files extends Core {
  readonly #core: Sandbox;

  /** @internal */
  constructor(core: Sandbox) {
    super(core);
    this.#core = core;
  }

  // The core has the documentation.
  override write(path: FilePath, data: FileData, options?: WriteFileOptions): Promise<FileInfo> {
    if (data === null) return super.write(path, "", options);
    return super.write(path, data, options);
  }

  /**
   * The bytes of a file, or of a part of it, as a stream. It connects when it is first read, and reads no further ahead than one
   * network chunk; to cancel it closes the connection. A connection that breaks is made again, and goes on where it was.
   *
   * The stream fails with {@link FileChangedError} where the file was changed meanwhile, and with all that the other calls
   * throw.
   *
   * @throws {InvalidArgumentError} An option is wrong.
   */
  readStream(path: FilePath, options?: ReadStreamOptions): ByteStream {
    const signal = checkSignal(options);
    const batches = this.#core.readFile(path, options);
    return fileStream(() => batches, signal);
  }

  /**
   * Watches a directory, from now on: connects at once, and tells what changes in it. Where changes may have been missed (there
   * were too many at once, or the connection broke) there is one of type `overflow`.
   *
   * The iteration throws {@link WatchEndedError} where the directory can't be watched any more, {@link HttpError} with status 507
   * where the system has no more watches, and {@link UnsupportedError} where the agent has none at all.
   *
   * @throws {InvalidArgumentError} An option is wrong.
   */
  watch(path: FilePath, options?: WatchFilesOptions): FileWatcher {
    const signal = checkSignal(options);
    return new FileWatcher(this.#core.watchFiles(path, options), signal);
  }
}
