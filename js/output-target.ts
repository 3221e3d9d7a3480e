// Where the output of a command goes that is not kept.
import { InvalidArgumentError } from "./core/errors.js";
import type { OutputEvent } from "./events.js";
import { describe, isPromise } from "./wrong-value.js";

/** What takes output: a writable stream of Node.js, or of the web. */
export type OutputTarget = "ignore" | NodeWritable | WebWritable;

/** The part of a writable stream of Node.js that this package uses. */
export interface NodeWritable {
  write(chunk: string | Uint8Array, written: (error?: Error | null) => void): unknown;
  on?(event: "close", listener: () => void): unknown;
  off?(event: "close", listener: () => void): unknown;
  readonly destroyed?: boolean;
}

/** The part of a `WritableStream` that this package uses. */
export interface WebWritable {
  getWriter(): { write(chunk: never): Promise<unknown>; releaseLock(): void };
}

type Listener = (event: OutputEvent<never>) => unknown;

/** What may be in options. */
interface Targets {
  stdout?: unknown;
  stderr?: unknown;
  onOutput?: unknown;
}

/**
 * Options for the core, which writes to no stream: a listener does, before the caller's own.
 *
 * @throws {InvalidArgumentError} A target is none.
 */
export function withTargets<T>(options: T): T {
  const { stdout, stderr, onOutput } = Object(options) as Targets;
  const targets = { stdout: writerOf("stdout", stdout), stderr: writerOf("stderr", stderr) };
  if (targets.stdout === undefined && targets.stderr === undefined) return options;
  const listener: Listener = async (event) => {
    const { type, output } = event as OutputEvent<string | Uint8Array>;
    if (output.length > 0) await targets[type]?.(output);
    if (typeof onOutput === "function") await (onOutput as Listener).call(options, event);
  };
  const own = {
    onOutput: onOutput === undefined || typeof onOutput === "function" ? listener : onOutput,
    ...(targets.stdout === undefined ? {} : { stdout: "ignore" }),
    ...(targets.stderr === undefined ? {} : { stderr: "ignore" }),
  };
  return { ...options, ...own };
}

type Write = (chunk: string | Uint8Array) => Promise<unknown>;

/** Undefined where there is no stream: the core says what is wrong with anything else. */
function writerOf(name: string, target: unknown): Write | undefined {
  if (typeof target !== "object" || target === null) return undefined;
  const { write, getWriter } = target as Partial<NodeWritable & WebWritable>;
  if (typeof getWriter === "function") {
    return async (chunk) => {
      const writer = (target as WebWritable).getWriter();
      try {
        await writer.write(chunk as never);
      } finally {
        writer.releaseLock();
      }
    };
  }
  if (typeof write === "function") {
    return (chunk) => writeTo(target as NodeWritable, chunk);
  }
  throw new InvalidArgumentError(
    `\`options.${name}\` must be "ignore" or a stream to write to, but is ${describe(target)}`,
  );
}

/** Writes to a stream of Node.js. One that is destroyed meanwhile says nothing of the write. */
function writeTo(stream: NodeWritable, chunk: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = (): void => {
      const message = "the stream was closed before all output was written";
      reject(Object.assign(new Error(message), { code: "ERR_STREAM_PREMATURE_CLOSE" }));
    };
    if (stream.destroyed === true) {
      onClose();
      return;
    }
    stream.on?.("close", onClose);
    stream.write(chunk, (error) => {
      stream.off?.("close", onClose);
      if (error) reject(error);
      else resolve();
    });
  });
}

/**
 * Calls a listener with each event, once `before` has come to its end, and awaits what it returns (`Shim` in the core
 * says more).
 */
export function deliver(
  before: Promise<void> | undefined,
  events: readonly unknown[],
  listener: (event: never) => unknown,
): Promise<void> | undefined {
  if (before === undefined) return deliverFrom(0, events, listener);
  return handled(before.then(() => deliverFrom(0, events, listener)));
}

function deliverFrom(
  start: number,
  events: readonly unknown[],
  listener: (event: never) => unknown,
): Promise<void> | undefined {
  for (let index = start; index < events.length; index += 1) {
    const returned = listener(events[index] as never);
    if (!isPromise(returned)) continue;
    const next = index + 1;
    return handled(Promise.resolve(returned).then(() => deliverFrom(next, events, listener)));
  }
  return undefined;
}

/** The call may be over before its failure can be told. */
function handled(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined);
  return promise;
}
