import type { Header } from "tar-stream";

import { ProtocolError } from "../../core/errors.js";
import { BLOCK, paddingOf } from "./header.js";

/**
 * Looks whether a stream ends as an archive does: with a block of zeros behind its last entry (POSIX, pax, "ustar Interchange Format").
 * tar-stream does not ask for it: to it a stream that is cut off between two entries is whole.
 */
export class ArchiveEnd {
  #length = 0;
  /** How many zeros come last; more than a block are not counted. */
  #zeros = 0;
  /** Where the last entry ends. */
  #entryEnd = 0;

  /** Takes the next chunk of the stream. */
  chunk(chunk: Uint8Array): void {
    let zeros = 0;
    while (zeros < BLOCK && chunk.at(-1 - zeros) === 0) zeros += 1;
    this.#zeros = zeros === chunk.length ? this.#zeros + zeros : zeros;
    this.#length += chunk.length;
  }

  /** Takes the next entry. */
  entry(header: Header & { byteOffset?: number }): void {
    // A directory has no content, whatever its size says.
    const size = header.type === "directory" ? 0 : header.size;
    this.#entryEnd = (header.byteOffset ?? 0) + size + paddingOf(size).length;
  }

  /** @throws {ProtocolError} The stream, which has ended, is cut off. */
  check(): void {
    if (this.#zeros >= BLOCK && this.#length >= this.#entryEnd + BLOCK) return;
    throw new ProtocolError("the tar stream is cut off: it has no end", { excerpt: "" });
  }
}
