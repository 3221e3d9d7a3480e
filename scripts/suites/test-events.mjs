// @ts-check
/**
 * A reporter of Node's test runner that writes a line of JSON for each test that begins or ends, and one for its
 * result. What has begun and not ended is what hangs.
 *
 * @typedef {{ event: "begin" | "end", name: string }} Sign
 * @typedef {{ event: "result" } & import("./job.mjs").TestResult} Result
 *
 * @param {AsyncIterable<import("node:test/reporters").TestEvent>} events
 */
export default async function* testEvents(events) {
  /** @type {string[]} */
  const around = [];
  for await (const event of events) {
    const line = lineOf(event, around);
    if (line !== undefined) yield `${JSON.stringify(line)}\n`;
  }
}

/**
 * @param {import("node:test/reporters").TestEvent} event
 * @param {string[]} around the names of the test whose result comes next, and of the suites around it
 * @returns {Sign | Result | undefined}
 */
function lineOf({ type, data }, around) {
  switch (type) {
    case "test:dequeue":
      return { event: "begin", name: data.name };
    case "test:complete":
      return { event: "end", name: data.name };
    case "test:start":
      around.splice(data.nesting, Infinity, data.name);
      return undefined;
    case "test:pass":
    case "test:fail": {
      const { skip, todo, details } = data;
      const isSkipped = skip !== undefined || todo !== undefined;
      // The tests of a suite have results of their own, unless it is skipped.
      if (details.type === "suite" && !isSkipped) return undefined;
      const result = { event: /** @type {const} */ ("result"), name: around.join(" › ") };
      const ms = details.duration_ms;
      if (isSkipped) return { ...result, outcome: "skipped", ms, reason: reasonOf(skip ?? todo) };
      if (type === "test:pass") return { ...result, outcome: "passed", ms };
      const { cause, message } = data.details.error;
      const reason = cause instanceof Error ? (cause.stack ?? cause.message) : message;
      return { ...result, outcome: "failed", ms, reason: String(reason) };
    }
    default:
      return undefined;
  }
}

/** @param {unknown} given what a test gives as the reason of its skip: a text, or only `true` */
function reasonOf(given) {
  return typeof given === "string" ? given : "no reason is given";
}
