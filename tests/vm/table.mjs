// @ts-check
/** What is expected of the virtual machine, and how it is shown. */

/**
 * @typedef {object} Result
 * @property {string} setting
 * @property {string} attempt
 * @property {string} code the exit code, or a number that was measured
 * @property {string} output
 */

const OF_MEMORY = "ended by limits.memory of the policy: ";
const OF_PROCESSES = "refused a process by limits.processes of the policy: ";
const [MEMORY, PROCESSES] = ["67108864 bytes", "24"];
/** Of the policy within the agent's. */
const [NARROWER_MEMORY, NARROWER_PROCESSES] = ["33554432 bytes", "12"];
/** A quarter of a processor for six seconds, and what it may take for the commands around that. */
const MAX_PROCESSOR_MS = 2000;
const MIN_PROCESSOR_MS = 1000;
/** Settings in which no controller can be had: agents are to say so, and run nothing. */
const REFUSED = ["user, workspace, not delegated", "root, workspace, a cgroup with others"];

/** @type {(result: Result) => string | undefined} */
const done = ({ code, output }) =>
  code === "0" && output.includes("done") && !output.includes("sandpipe-agent:")
    ? "runs"
    : undefined;
/** @type {(limit: string) => (result: Result) => string | undefined} */
const killedBy =
  (limit) =>
  ({ code, output }) =>
    code === "137" && output.includes(OF_MEMORY + limit) && !output.includes("survived")
      ? "ended, `limits.memory` named"
      : undefined;
/** @type {(limit: string) => (result: Result) => string | undefined} */
const refusedProcessBy =
  (limit) =>
  ({ code, output }) =>
    code !== "0" && output.includes(OF_PROCESSES + limit) && !output.includes("survived")
      ? "ended, `limits.processes` named"
      : undefined;
/** Its own limit was not reached, but that of the wider policy. @type {(result: Result) => string | undefined} */
const refusedByWider = ({ code, output }) =>
  code !== "0" && code !== "none" && !output.includes("survived") ? "ended" : undefined;
const [killed, refusedProcess] = [killedBy(MEMORY), refusedProcessBy(PROCESSES)];
/** @type {(result: Result) => string | undefined} */
const nothing = ({ code }) => (code === "0" ? "nothing" : undefined);

/** @type {Record<string, (result: Result) => string | undefined>} */
const EXPECTED = {
  start: ({ setting, code, output }) => {
    if (!REFUSED.includes(setting)) return code === "0" ? "runs" : undefined;
    return code === "1" && output.includes("limits.memory and limits.cpu")
      ? "refused, limits named"
      : undefined;
  },
  "32 MiB": done,
  "256 MiB in one process": killed,
  "256 MiB in a child": killed,
  "256 MiB of files in memory": killed,
  "to remove those files": done,
  "8 processes": done,
  "100 processes": refusedProcess,
  "a fork bomb": refusedProcess,
  "a busy loop": done,
  "processor time, milliseconds": ({ code }) =>
    Number(code) >= MIN_PROCESSOR_MS && Number(code) <= MAX_PROCESSOR_MS
      ? `${code} of 6000 ms`
      : undefined,
  "16 MiB, narrower": done,
  "48 MiB, narrower": killedBy(NARROWER_MEMORY),
  "16 processes, narrower": refusedProcessBy(NARROWER_PROCESSES),
  "18 processes that stay": done,
  "10 processes, narrower, beside those": refusedByWider,
  "the next command": done,
  "left when it was stopped": nothing,
  "a command of the next agent": done,
  "left when it was killed, after the next": nothing,
};

/** The settings that init.sh has. */
const SETTINGS = [
  "root, open, root of all cgroups",
  "root, workspace, root of all cgroups",
  "root, workspace, a service",
  "user, open, delegated",
  "user, workspace, delegated",
  ...REFUSED,
];

/**
 * A line of the serial console.
 *
 * @param {string} line
 * @returns {Result | undefined}
 */
export function parseResult(line) {
  // Firmware and kernel may have written something before.
  const [, setting, attempt, code, , ...output] = line.slice(line.indexOf("RESULT|")).split("|");
  if (!line.includes("RESULT|") || setting === undefined || attempt === undefined) return undefined;
  return { setting, attempt, code: code ?? "", output: output.join("|") };
}

/**
 * @param {Result} result
 * @returns {string | undefined} what it was, if that was expected
 */
export function verdict(result) {
  return EXPECTED[result.attempt]?.(result);
}

/**
 * What is missing: each attempt was to be made in each setting in which an agent runs.
 *
 * @param {readonly Result[]} results
 */
export function missing(results) {
  return SETTINGS.flatMap((setting) => {
    const isRoot = setting.endsWith("root of all cgroups");
    const attempts = Object.keys(EXPECTED).filter((attempt) =>
      REFUSED.includes(setting)
        ? attempt === "start"
        : isRoot || (!attempt.includes("next agent") && !attempt.includes("killed")),
    );
    const has = (/** @type {string} */ attempt) =>
      results.some((result) => result.setting === setting && result.attempt === attempt);
    return attempts.filter((attempt) => !has(attempt)).map((attempt) => `${setting}: ${attempt}`);
  });
}

/** @param {readonly Result[]} results */
export function table(results) {
  const rows = Object.keys(EXPECTED).map((attempt) => {
    const cells = SETTINGS.map((setting) => {
      const found = results.find(
        (result) => result.setting === setting && result.attempt === attempt,
      );
      return found === undefined
        ? "–"
        : (verdict(found) ?? `**not as it is to be: ${found.code}**`);
    });
    return `| ${attempt} | ${cells.join(" | ")} |`;
  });
  const head = `| | ${SETTINGS.join(" | ")} |`;
  return [head, `|---|${SETTINGS.map(() => "---|").join("")}`, ...rows].join("\n");
}
