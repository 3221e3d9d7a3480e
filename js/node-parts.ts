// What a sandbox has for sandpipe/node, beside its public interface.
import type { Batches, FileOptions, ReadFileOptions } from "./core/sandpipe.js";
import type { FilePath } from "./file-data.js";

/**
 * A sandbox's tree of files as a tar stream, without what one of the patterns fits. After an empty chunk it begins again.
 *
 * @internal
 */
export const READ_TREE = Symbol("sandpipe.readTree");

/**
 * Has a sandbox unpack a tar stream into a directory. `open` gives a `Readable` of it, for each request anew.
 *
 * @internal
 */
export const WRITE_TREE = Symbol("sandpipe.writeTree");

/**
 * What opens a WebSocket that is one connection to a port of a sandbox.
 *
 * @internal
 */
export const PORT_SOCKET = Symbol("sandpipe.portSocket");

/**
 * What ends the forwarded ports of a sandbox.
 *
 * @internal
 */
export const FORWARDS = Symbol("sandpipe.forwards");

/** The address of a WebSocket, and the headers that belong to its request. */
export interface SocketRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
}

/** What these give. @internal */
export interface NodeParts {
  [READ_TREE](
    path: FilePath,
    exclude: readonly string[],
    options: FileOptions,
  ): Batches<Uint8Array>;
  [WRITE_TREE](path: FilePath, open: () => object, options: ReadFileOptions): Promise<void>;
  [PORT_SOCKET](port: number): Promise<SocketRequest>;
  readonly [FORWARDS]: Set<() => Promise<void>>;
}
