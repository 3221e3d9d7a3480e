import type { Answer, Init } from "./node/http-fetch.js";

/** What makes requests: the part of `fetch` that the core uses. */
export type Fetch = (url: string, init: Init) => Promise<Answer | Response>;

/** Those that `fetch` follows (Fetch standard, "redirect status"), and how many of them. */
const REDIRECTS = [301, 302, 303, 307, 308];
const MAX_REDIRECTS = 20;

const TOO_MANY = `no more than ${MAX_REDIRECTS} redirects in a row are followed`;
const READ_ONCE = "a body that is a stream is sent once";
const PRIVATE = "nothing but a GET without credentials goes to another origin";

/**
 * A `fetch` that goes where an answer says that the agent is, and takes nothing secret to another origin: no
 * token, no header of the caller's, no body, which has a command's environment. `fetch` itself would leave
 * only `Authorization` behind.
 *
 * An answer that leads to where the request does not go becomes one that says so. Where the runtime tells no
 * more than that there is a redirect (browsers), its status is 307.
 */
export function withRedirects(fetch: Fetch): Fetch {
  return async (url, init) => {
    let from = url;
    for (let count = 0; ; count += 1) {
      const answer = await fetch(from, { ...init, redirect: isPublic(init) ? "follow" : "manual" });
      if (isOpaque(answer as Response))
        return refusal(307, from, "where browsers do not tell", PRIVATE);
      const location = locationOf(answer);
      if (location === null) return answer;
      await leave(answer);
      const { status } = answer;
      const to = addressOf(location, from);
      if (to === undefined) return refusal(status, from, location, "that is no HTTP address");
      const reason = count === MAX_REDIRECTS ? TOO_MANY : whyNot(status, init, from, to);
      if (reason !== undefined) return refusal(status, from, to.origin, reason);
      from = to.href;
    }
  };
}

/** Where an answer leads, if it leads anywhere; what is no answer is the core's to refuse. */
function locationOf(answer: Partial<Answer | Response> | undefined): string | null {
  const status = answer?.status ?? 0;
  return REDIRECTS.includes(status) ? (answer?.headers?.get("location") ?? null) : null;
}

/** Whether it tells nobody anything. */
function isPublic({ method, headers }: Init): boolean {
  return method === "GET" && Object.keys(headers).every((name) => name === "accept");
}

/** Why a request is not made again at another address, where a server said so by this status. */
function whyNot(status: number, init: Init, from: string, to: URL): string | undefined {
  if (to.origin !== new URL(from).origin && !isPublic(init)) return PRIVATE;
  // What was read of it is gone.
  if (isStream(init.body)) return READ_ONCE;
  const { method } = init;
  // After the others `fetch` makes a GET of a POST, which would do something else.
  if (status === 307 || status === 308 || method === "GET") return undefined;
  if (method !== "POST" && status !== 303) return undefined;
  return `a ${method} is sent again only after 307 and 308`;
}

/** Whether it can be read only once; one of Node.js's is passed as well. */
function isStream(body: Init["body"]): boolean {
  return typeof body === "object" && !(body instanceof Uint8Array);
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
function refusal(code: number, from: string, to: string, reason: string): Response | Answer {
  const message = `it leads from ${new URL(from).origin} to ${to}, and ${reason}`;
  const { body } = new Response(JSON.stringify({ code, message }));
  return { status: code, headers: { get: () => null }, body };
}
