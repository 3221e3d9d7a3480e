// @ts-check
/**
 * A reporter of Node's test runner that writes how many tests passed, failed and were skipped, as JSON.
 *
 * @param {AsyncIterable<import("node:test/reporters").TestEvent>} events
 */
export default async function* counts(events) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    // Of one that is skipped its tests are not told: it counts as one.
    if (data.details.type === "suite" && data.skip === undefined) continue;
    if (data.skip !== undefined || data.todo !== undefined) counts.skipped++;
    else counts[type === "test:pass" ? "passed" : "failed"]++;
  }
  yield JSON.stringify(counts);
}
