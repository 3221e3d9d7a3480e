import { finishable } from "./finish.js";
import type { Answer, Init } from "./node/http-fetch.js";

/** What makes requests: the part of `fetch` that the core uses. */
export type Fetch = (url: string, init: Init) => Promise<Answer | Response>;

/** As many as `fetch` follows (Fetch standard, "HTTP-redirect fetch"). */
const MAX_REDIRECTS = 20;

/**
 * A `fetch` that goes where an answer says that the agent is, and takes nothing secret to another origin: no
 * token, no header of the caller's, no body, which has a command's environment. `fetch` itself would leave
 * only `Authorization` behind.
 *
 * An answer that leads to where the request does not go becomes one that says so. Where the runtime does not
 * tell more than that there is a redirect (browsers), its status is 0.
 */
export function withRedirects(fetch: Fetch): Fetch {
  return async (url, init) => {
    let from = url;
    for (let count = 0; ; count += 1) {
      const answer = await fetch(from, { ...init, redirect: isPublic(init) ? "follow" : "manual" });
      if (isOpaque(answer as Response)) return refusal(0, from, "where browsers do not tell");
      const location = locationOf(answer);
      if (location === null) return finishable(answer);
      const to = addressOf(location, from);
      if (
        to === undefined ||
        count === MAX_REDIRECTS ||
        !mayFollow(answer.status, init, from, to)
      ) {
        await leave(answer);
        return refusal(answer.status, from, to?.origin ?? location);
      }
      await leave(answer);
      from = to.href;
    }
  };
}

/** Where an answer leads, if it leads anywhere; what is no answer is the core's to refuse. */
function locationOf(answer: Partial<Answer | Response> | undefined): string | null {
  const status = answer?.status ?? 0;
  return status >= 300 && status < 400 ? (answer?.headers?.get("location") ?? null) : null;
}

/** Whether it tells nobody anything. */
function isPublic({ method, headers }: Init): boolean {
  return method === "GET" && Object.keys(headers).every((name) => name === "accept");
}

/** Whether the request may be made again at another address, where a server said so by this status. */
function mayFollow(status: number, init: Init, from: string, to: URL): boolean {
  if (to.origin !== new URL(from).origin && !isPublic(init)) return false;
  if (status === 307 || status === 308) return true;
  // After the others `fetch` makes a GET of a POST, which would do something else.
  if (status === 301 || status === 302) return init.method !== "POST";
  return status === 303 && init.method === "GET";
}

function addressOf(location: string, base: string): URL | undefined {
  try {
    const url = new URL(location, base);
    return /^https?:$/.test(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}

/** With `redirect: "manual"` a browser tells nothing of a redirect but that there is one. */
function isOpaque(answer: Partial<Response> | undefined): boolean {
  return answer?.type === "opaqueredirect" && answer.status === 0;
}

/** Lets the connection go of an answer whose body does not matter. */
async function leave({ body }: Answer | Response): Promise<void> {
  await body?.cancel();
}

/** An answer as the agent would give it, of a request that would have to go to another place. */
function refusal(code: number, from: string, to: string): Response | Answer {
  const message = `it leads from ${new URL(from).origin} to ${to}, and nothing but a GET without credentials goes to another origin. If the agent is there, pass its address to connect() as \`url\`.`;
  const { body } = new Response(JSON.stringify({ code, message }));
  return { status: code, headers: { get: () => null }, body };
}
