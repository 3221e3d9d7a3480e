import type { ReadableStream } from "./platform.js";

/** Where a command's stdin comes from: text and bytes, piece by piece. */
export type StdinStream = AsyncIterable<Uint8Array | string> | ReadableStream<Uint8Array | string>;
