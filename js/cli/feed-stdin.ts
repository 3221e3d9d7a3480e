import { HttpError } from "../core/errors.js";
import type { Execs } from "../execs.js";

/**
 * Passes stdin on to a command, and its end. It reads no faster than the command does; where the
 * command reads no more, it stops.
 */
export async function feedStdin(
  execs: Execs,
  id: string,
  stdin: AsyncIterable<Uint8Array>,
  isTerminal: boolean,
): Promise<void> {
  try {
    for await (const input of textOf(stdin, isTerminal)) {
      if (input !== "") await execs.sendStdin(id, { input });
    }
    await execs.sendStdin(id, { type: "eof", input: "" });
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
}

/**
 * Whether the agent itself refuses input: the command has ended, or closed its stdin. What stands before an
 * agent may answer 400 for reasons of its own.
 */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof HttpError && error.status === 400)) return false;
  try {
    const { message } = JSON.parse(error.body ?? "") as { message?: unknown };
    return typeof message === "string";
  } catch {
    return false;
  }
}

/** The bytes as the text that the protocol carries. From a keyboard, what is none is replaced. */
async function* textOf(bytes: AsyncIterable<Uint8Array>, lenient: boolean): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: !lenient, ignoreBOM: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch (cause) {
      const hint = "agents take nothing else. Encode it, as with `base64`";
      throw new Error(`stdin is not UTF-8 text, and ${hint}.`, { cause });
    }
  };
  for await (const chunk of bytes) yield decode(chunk);
  yield decode();
}
