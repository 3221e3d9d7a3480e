// @ts-check
/** What the figures are to be, on two cores. */

import { middle, shown } from "./table.mjs";

/**
 * @typedef {object} Goal
 * @property {string} row
 * @property {string} column
 * @property {"ms" | "cpuMs" | "rssMb"} [figure] the time, unless told
 * @property {string} [to] the column of which it is a multiple
 * @property {number} most
 */

/** Sandpipe against OpenSSH. @type {Record<string, number>} */
const OPENSSH = {
  "exec-ascii": 0.3,
  "exec-mixed": 0.4,
  "exec-cjk": 0.4,
  "exec-tiny": 0.65,
  "stream-ascii": 0.35,
  "stream-mixed": 0.5,
  "stream-cjk": 0.5,
  "stream-tiny": 0.65,
};

/** Server-Sent Events against plain JavaScript. @type {Record<string, number>} */
const PLAIN = {
  "exec-ascii": 0.58,
  "exec-mixed": 0.54,
  "exec-cjk": 0.69,
  "exec-tiny": 0.38,
  "stream-ascii": 0.6,
  "stream-mixed": 0.58,
  "stream-cjk": 0.77,
  "stream-tiny": 0.6,
};

/** Chromium against a bare fetch of the frames. @type {Record<string, number>} */
const CHROMIUM = { "exec-ascii": 1.5, "exec-mixed": 2.7, "exec-tiny": 1.6 };

/** @type {Goal[]} */
const GOALS = [
  ...goals("e2e-", OPENSSH, "openssh"),
  ...goals("", PLAIN, "plain"),
  { row: "bytes-exec-ascii", column: "sandpipe-bytes", to: "wc", most: 3 },
  { row: "bytes-exec-ascii", column: "sandpipe-bytes", figure: "rssMb", most: 150 },
  { row: "line-10ms", column: "sandpipe", most: 0.3 },
  { row: "line-1ms", column: "sandpipe", most: 0.8 },
  { row: "agent", column: "bare-net", figure: "cpuMs", most: 130 },
  { row: "agent", column: "bare-net", to: "cat to wc", most: 2 },
  ...goals("browser-e2e-", CHROMIUM, "bare"),
  { row: "cold", column: "sandpipe", most: 90 },
  { row: "left-behind", column: "sandpipe", most: 2300 },
  { row: "warm", column: "sandpipe", to: "spawn", most: 1.1 },
  { row: "box-warm", column: "workspace", to: "open", most: 1.2 },
  { row: "box-burst", column: "workspace", to: "open", most: 1.2 },
  { row: "files-upload", column: "sandpipe", to: "tar to tar", most: 3 },
  { row: "files-download", column: "sandpipe", to: "tar to tar", most: 3 },
  { row: "files-read", column: "sandpipe", to: "busybox httpd", most: 2 },
  { row: "files-1gb-client", column: "sandpipe", figure: "rssMb", most: 64 },
  { row: "files-1gb-agent", column: "sandpipe", figure: "rssMb", most: 64 },
  { row: "box-idle", column: "open", figure: "rssMb", most: 10 },
  { row: "box-repositories", column: "workspace", most: 1000 },
];

/**
 * @param {string} prefix of the rows' names
 * @param {Record<string, number>} most
 * @param {string} to
 * @returns {Goal[]}
 */
function goals(prefix, most, to) {
  const entries = Object.entries(most);
  return entries.map(([row, most]) => ({ row: `${prefix}${row}`, column: "sandpipe", to, most }));
}

/**
 * What was measured of them, as a table; nothing where none was.
 *
 * @param {import("./table.mjs").Result[]} results
 */
export function goalsTable(results) {
  const lines = GOALS.flatMap(({ row: name, column, figure = "ms", to, most }) => {
    const result = results.find(({ row }) => row.name === name);
    const value = result && middle(result, column, figure);
    const whole = result && to !== undefined ? middle(result, to, figure) : 1;
    if (result === undefined || value === undefined || whole === undefined) return [];
    const measured = value / whole;
    const unit = figure === "rssMb" ? "MB" : "ms";
    const [is, limit] =
      to === undefined
        ? [shown(measured, unit), `${most} ${unit}`]
        : [`${measured.toFixed(2)} × ${to}`, `${most.toFixed(2)} × ${to}`];
    const what = { ms: "time", cpuMs: "CPU", rssMb: "peak memory" }[figure];
    const verdict = measured <= most ? "yes" : "no";
    return [`| ${[`${result.row.title}: ${what}`, is, limit, verdict].join(" | ")} |`];
  });
  if (lines.length === 0) return "";
  return ["| goal | is | at most | met |", "|---|---|---|---|", ...lines, ""].join("\n");
}
