import { InvalidArgumentError } from "./core/errors.js";
import type { ReadableStream } from "./platform.js";

/** Where a command's stdin comes from: text, or bytes that are text in UTF-8. */
export type StdinStream = AsyncIterable<Uint8Array | string> | ReadableStream<Uint8Array | string>;

/** Whether something gives its parts one after the other. */
export function isStream(body: unknown): body is StdinStream {
  if (typeof body !== "object" || body === null) return false;
  return Symbol.asyncIterator in body || "getReader" in body;
}

/**
 * Sends all that a stream gives, and its end; no more of it is read when the command reads no more.
 *
 * @param send Sends what comes next, or the end; resolves whether the command reads on.
 */
export async function sendStream(
  stream: StdinStream,
  send: (next: string | undefined) => Promise<boolean>,
): Promise<void> {
  for await (const text of textOf(Symbol.asyncIterator in stream ? stream : chunksOf(stream))) {
    if (text !== "" && !(await send(text))) return;
  }
  await send(undefined);
}

/** For engines whose streams can't be iterated. */
async function* chunksOf<T>(stream: ReadableStream<T>): AsyncGenerator<T> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || value === undefined) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}

/** The text that the protocol carries. */
async function* textOf(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch (cause) {
      const hint = "agents take nothing else. Encode it, as with `base64`";
      throw new InvalidArgumentError(`stdin is not UTF-8 text, and ${hint}.`, { cause });
    }
  };
  // A character of two code units may come in two pieces.
  let half = "";
  for await (const chunk of chunks) {
    const text = half + (typeof chunk === "string" ? decode() + chunk : decode(chunk));
    half = /[\uD800-\uDBFF]$/.exec(text)?.[0] ?? "";
    yield text.slice(0, text.length - half.length);
  }
  yield half + decode();
}
