const CTRL_P = 0x10;
const CTRL_Q = 0x11;

/** Ctrl+P Ctrl+Q was typed. */
export class Detached extends Error {
  override readonly name = "Detached";
}

/**
 * A keyboard's bytes up to Ctrl+P Ctrl+Q, as at a container. A Ctrl+P is held back until it is known
 * what follows.
 *
 * @throws {Detached} That was typed.
 */
export async function* upToDetachKeys(keys: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held = false;
  for await (const chunk of keys) {
    const bytes: number[] = held ? [CTRL_P, ...chunk] : [...chunk];
    const end = bytes.findIndex((byte, index) => byte === CTRL_Q && bytes[index - 1] === CTRL_P);
    if (end >= 0) {
      yield Uint8Array.from(bytes.slice(0, end - 1));
      throw new Detached("left by Ctrl+P Ctrl+Q");
    }
    held = bytes.at(-1) === CTRL_P;
    yield Uint8Array.from(held ? bytes.slice(0, -1) : bytes);
  }
}
