/** What a chunk has more digits of than this is none of the plain ones: its size is less than 256 MiB. */
const MAX_DIGITS = 7;

const [CR, LF] = [13, 10];

/**
 * Takes the data out of the chunks of a body (RFC 9112, section 7.1), where they are plain: a size, CRLF, the
 * data, CRLF. What is anything else is left: the last chunk, extensions, trailers, what is malformed. For a body
 * from which whole chunks have been taken is still a chunked body, which a parser can be given that knows all of
 * that.
 */
export class PlainChunks {
  #expects: "size" | "end of size" | "data" | "end of data" | "end of chunk" = "size";
  #digits = 0;
  #size = 0;
  /** Of the chunk's data. */
  #left = 0;

  /**
   * Takes data out of the next bytes of a body, and moves it together in their memory.
   *
   * Once there is a `rest`, that is how the body goes on, and there is nothing more to be taken.
   *
   * @throws Error where a chunk does not end with its data
   */
  take(bytes: Uint8Array): { data: Uint8Array; rest?: Uint8Array } {
    let [start, end, at] = [0, 0, 0];
    while (at < bytes.length) {
      if (this.#expects === "data") {
        const length = Math.min(this.#left, bytes.length - at);
        // The first stays where it is.
        if (end === 0) start = end = at;
        else bytes.copyWithin(end, at, at + length);
        end += length;
        at += length;
        this.#left -= length;
        if (this.#left === 0) this.#expects = "end of data";
      } else if (this.#knows(bytes[at] ?? 0)) {
        at += 1;
      } else {
        return { data: bytes.subarray(start, end), rest: this.#withSize(bytes.subarray(at)) };
      }
    }
    return { data: bytes.subarray(start, end) };
  }

  /** Goes on by a byte outside of data, if it is that of a plain chunk. */
  #knows(byte: number): boolean {
    switch (this.#expects) {
      case "end of data":
      case "end of chunk":
        if (byte !== (this.#expects === "end of data" ? CR : LF)) {
          throw new Error("a chunk of the answer is longer than its size says");
        }
        [this.#expects, this.#digits, this.#size] =
          byte === CR ? ["end of chunk", 0, 0] : ["size", 0, 0];
        return true;
      case "end of size":
        if (byte !== LF) return false;
        [this.#expects, this.#left] = ["data", this.#size];
        return true;
      default:
        return this.#knowsOfSize(byte);
    }
  }

  #knowsOfSize(byte: number): boolean {
    if (byte === CR && this.#digits > 0) {
      this.#expects = "end of size";
      return true;
    }
    const digit = digitOf(byte);
    // The last chunk has no size but zeros.
    const isPlain = digit >= (this.#digits === 0 ? 1 : 0) && this.#digits < MAX_DIGITS;
    if (!isPlain) return false;
    this.#size = this.#size * 16 + digit;
    this.#digits += 1;
    return true;
  }

  /** What has been read of a chunk's size, and what comes after it. */
  #withSize(bytes: Uint8Array): Uint8Array {
    const size = this.#digits === 0 ? "" : this.#size.toString(16);
    return Buffer.concat([
      Buffer.from(this.#expects === "end of size" ? `${size}\r` : size),
      bytes,
    ]);
  }
}

/** The value of a hexadecimal digit, -1 of what is none. */
function digitOf(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}
