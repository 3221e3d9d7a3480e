import type { ExecOptions, WaitOptions } from "./core/sandpipe.js";
import type { OutputEvent } from "./events.js";
import type { StreamOptions } from "./stream.js";

/** The same options where output is wanted byte for byte. */
interface InBytes {
  /** All output is a `Uint8Array`, byte for byte, also that of events and errors. It needs the extension `frames`. */
  encoding: "bytes";
}

/** What is called with each piece of output. */
interface BytesListener {
  /** Called with each piece of output as it arrives, in order. A promise that it returns is awaited before the next call. */
  onOutput?(event: OutputEvent<Uint8Array>): unknown;
}

/** How to run a command and follow it to its end, with its output in bytes. */
export type ExecBytesOptions = Omit<ExecOptions, keyof BytesListener | keyof InBytes> &
  BytesListener &
  InBytes;

/** How to follow an exec to its end, with its output in bytes. */
export type WaitBytesOptions = Omit<WaitOptions, keyof BytesListener | keyof InBytes> &
  BytesListener &
  InBytes;

/** How to follow a stream of bytes. */
export type StreamBytesOptions = StreamOptions & InBytes;
