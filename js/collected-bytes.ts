/** A buffer whose memory can be given back before it is collected as garbage, where the engine has such. */
interface ResizableBuffer extends ArrayBuffer {
  readonly resizable?: boolean;
  resize?(length: number): void;
}

const Resizable = ArrayBuffer as unknown as new (
  length: number,
  options: { maxByteLength: number },
) => ResizableBuffer;

/** Bytes that come piece by piece, and become one array without ever being there twice. */
export class CollectedBytes {
  #pieces: ResizableBuffer[] = [];
  #length = 0;

  /** Appends a copy. */
  append(bytes: Uint8Array): void {
    const piece = new Resizable(bytes.length, { maxByteLength: bytes.length });
    new Uint8Array(piece).set(bytes);
    this.#pieces.push(piece);
    this.#length += bytes.length;
  }

  /** All of them. */
  whole(): Uint8Array {
    const whole = new Uint8Array(this.#length);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(new Uint8Array(piece), at);
      at += piece.byteLength;
      // The whole of an earlier time is its caller's.
      if (piece.resizable) piece.resize?.(0);
    }
    this.#pieces = [whole.buffer];
    return whole;
  }
}
