import { throwIfAborted } from "../abort.js";
import { checkSignal } from "../arguments.js";
import { isSandpipeError } from "../core/errors.js";
import type { AbortSignal } from "../platform.js";
import { failureOf } from "./failure.js";
import { checkInput, type InputOf, type InputSchema, type Properties } from "./input.js";

/**
 * A tool for an AI agent, as a plain object: a framework takes it as it is, or field by field. Its
 * functions need no `this`.
 */
export interface Tool<Name extends string = string> {
  /** The name by which a model calls it. */
  readonly name: Name;
  /** What it does and how to use it, for a model. */
  readonly description: string;
  /** The JSON Schema of its input. */
  readonly inputSchema: InputSchema;
  /** What a client that asks people for permission may want to know, as MCP has it. */
  readonly annotations: ToolAnnotations;
  /**
   * Does it, and resolves the text that the model is to be given. A command that fails, is interrupted or
   * runs into its timeout is such a text, too.
   *
   * @param input What the model said: checked against `inputSchema`.
   * @throws {InvalidArgumentError} The input is wrong. The message is for the model, as are the others.
   * @throws {NotFoundError} There is no process of that id.
   * @throws {BackgroundError} The target could not do it, and `cause` is the error that says so to a program;
   * or the connection was lost while a command ran, and the message names the process that may go on.
   * @throws What a `run` of the caller's own does.
   * @throws {InterruptedError} `options.signal` was aborted before anything was done, or a wait was cut short.
   */
  readonly execute: (input: unknown, options?: ToolCallOptions) => Promise<string>;
}

/** How to call a tool. */
export interface ToolCallOptions {
  /**
   * Aborted, a command in the foreground is stopped with all that it started: SIGTERM to its process group,
   * 10 s, SIGKILL. Then the call resolves what there was, and says so.
   */
  signal?: AbortSignal | undefined;
  /** Called, at most once a second, when a command in the foreground has said something new. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
}

/** What a running command has said. */
export interface ToolProgress {
  /** How much so far, in bytes. */
  outputBytes: number;
  /** The end of it, as plain text of up to 1000 characters; where it is binary, that, and how long it is. */
  newest: string;
}

/** Hints of what a tool does, as MCP has them. */
export interface ToolAnnotations {
  /** Its name for people. */
  title: string;
  /** It changes nothing. */
  readOnlyHint: boolean;
  /** It may destroy something. */
  destructiveHint: boolean;
  /** A second call with the same input changes nothing more. */
  idempotentHint: boolean;
  /** It reaches whatever the target's commands can reach. */
  openWorldHint: boolean;
}

interface Definition<Name extends string, P extends Properties, R extends keyof P & string> {
  name: Name;
  description: string;
  inputSchema: InputSchema<P, R>;
  annotations: ToolAnnotations;
  run: (input: InputOf<P, R>, options: ToolCallOptions) => Promise<string>;
}

/** Puts a tool together: what it is given is checked before it does anything. */
export function defineTool<Name extends string, P extends Properties, R extends keyof P & string>({
  run,
  ...described
}: Definition<Name, P, R>): Tool<Name> {
  return {
    ...described,
    execute: async (input, { onProgress, ...options } = {}) => {
      const checked = checkInput(described.name, described.inputSchema, input);
      const signal = checkSignal(options.signal === undefined ? {} : { signal: options.signal });
      throwIfAborted(signal);
      try {
        return await run(checked, { signal, onProgress });
      } catch (error) {
        throw signal?.aborted === true && isSandpipeError(error, "interrupted")
          ? error
          : failureOf(described.name, error);
      }
    },
  };
}
