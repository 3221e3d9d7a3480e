/** When so many bytes have come they go to the browser, which may keep them on disk. */
const PART = 4 * 1024 * 1024;

/** It may be of any kind; what says otherwise has some browsers change the file's name. */
const TYPE = { type: "application/octet-stream" };

/** A file that is put together of the parts that come. */
export class BlobParts {
  #blob = new Blob([], TYPE);
  #parts: BlobPart[] = [];
  #length = 0;
  readonly #onProgress: (size: number) => void;

  /** @param onProgress Called with the number of bytes so far, now and then. */
  constructor(onProgress: (size: number) => void) {
    this.#onProgress = onProgress;
  }

  add(part: string | Uint8Array): void {
    // It is never in shared memory.
    this.#parts.push(part as BlobPart);
    this.#length += part.length;
    if (this.#length <= PART) return;
    this.#blob = this.whole();
    this.#onProgress(this.#blob.size);
    [this.#parts, this.#length] = [[], 0];
  }

  whole(): Blob {
    return new Blob([this.#blob, ...this.#parts], TYPE);
  }
}
