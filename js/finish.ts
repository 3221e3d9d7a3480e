import type { Answer, Reader } from "./node/http-fetch.js";

/** How long an answer that has said all may take to end, in milliseconds. */
const FINISH_MS = 1000;

/** The same answer, with a body that can be {@link finish}ed. What is no answer stays as it is. */
export function finishable(answer: Answer | Response): Answer | Response {
  const { body } = Object(answer) as Partial<Answer>;
  if (typeof body?.getReader !== "function") return answer;
  return {
    status: answer.status,
    headers: answer.headers,
    body: {
      cancel: () => body.cancel(),
      getReader() {
        const reader = body.getReader();
        return {
          read: () => reader.read(),
          finish: (request: AbortController) => void finish(reader, request),
        };
      },
    },
  };
}

/**
 * Reads what is left of an answer that has said all there is to say: its connection serves the next request
 * then, and no browser shows the request as one that failed. An answer that does not end is ended.
 */
async function finish(reader: Reader, request: AbortController): Promise<void> {
  const over: unknown = setTimeout(() => {
    request.abort();
  }, FINISH_MS);
  // Node's timers are objects.
  (over as { unref?(): void }).unref?.();
  reader.unref?.();
  try {
    while ((await reader.read()).done !== true);
  } catch {
    // Nobody needs it.
  } finally {
    clearTimeout(over as number);
  }
}
