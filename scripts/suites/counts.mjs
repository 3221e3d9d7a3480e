// @ts-check
/**
 * A reporter of Node's test runner that writes how many tests passed, failed and were skipped, and why those failed
 * that did, as JSON.
 *
 * @param {AsyncIterable<import("node:test/reporters").TestEvent>} events
 */
export default async function* counts(events) {
  /** @type {import("../test.mjs").Counts & { failures: string[] }} */
  const counts = { passed: 0, failed: 0, skipped: 0, failures: [] };
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    // Of one that is skipped its tests are not told: it counts as one.
    if (data.details.type === "suite" && data.skip === undefined) continue;
    if (data.skip !== undefined || data.todo !== undefined) counts.skipped++;
    else if (type === "test:pass") counts.passed++;
    else {
      counts.failed++;
      const { cause, message } = data.details.error;
      const why = cause instanceof Error ? (cause.stack ?? cause.message) : message;
      counts.failures.push(`${data.name} (${data.file})\n${why}`);
    }
  }
  yield JSON.stringify(counts);
}
