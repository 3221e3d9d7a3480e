import type { ByteStream } from "sandpipe";

/** What a stream has, chunk by chunk. Who leaves early closes it. */
export async function* chunksOf(stream: ByteStream): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
