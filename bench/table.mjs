// @ts-check
import { execFileSync } from "node:child_process";
import { cpus, totalmem } from "node:os";

/** @param {number[]} numbers */
export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return /** @type {number} */ (sorted[sorted.length >> 1]);
}

/**
 * @typedef {object} Result what was measured of a row
 * @property {import("./main.mjs").Row} row
 * @property {Record<string, import("./main.mjs").Sample[]>} samples
 */

/**
 * The median of a column's figure; undefined where the column has none.
 *
 * @param {Pick<Result, "samples">} result
 * @param {string} column
 * @param {"ms" | "cpuMs" | "rssMb"} figure
 */
export function middle({ samples }, column, figure) {
  const numbers = (samples[column] ?? []).flatMap((sample) => sample[figure] ?? []);
  return numbers.length === 0 ? undefined : median(numbers);
}

/** @param {number | undefined} value @param {string} unit */
export function shown(value, unit) {
  return value === undefined ? "" : `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ${unit}`;
}

/** @param {Result[]} results */
export function markdown(results) {
  const lines = ["| | | time | × | CPU | × | peak memory |", "|---|---|---|---|---|---|---|"];
  for (const { row, samples } of results) {
    const ratio = (
      /** @type {number | undefined} */ value,
      /** @type {number | undefined} */ to,
    ) => (value === undefined || to === undefined ? "" : (value / to).toFixed(2));
    for (const [index, column] of Object.keys(samples).entries()) {
      const of = (/** @type {string} */ column, /** @type {"ms" | "cpuMs" | "rssMb"} */ figure) =>
        middle({ samples }, column, figure);
      const [ms, cpu] = [of(column, "ms"), of(column, "cpuMs")];
      const cells = [
        ...[index === 0 ? row.title : "", column],
        ...[shown(ms, "ms"), ratio(ms, of(row.reference, "ms"))],
        ...[shown(cpu, "ms"), ratio(cpu, of(row.reference, "cpuMs"))],
        shown(of(column, "rssMb"), "MB"),
      ];
      lines.push(`| ${cells.join(" | ")} |`);
    }
  }
  return lines.join("\n") + "\n";
}

/** @param {number} rounds */
export async function machine(rounds) {
  const version = (/** @type {string} */ file, /** @type {string[]} */ args) =>
    execFileSync(file, args, { encoding: "utf8" }).trim();
  const [cpu] = cpus();
  return `# Results

\`npm run bench\`, ${new Date().toISOString().slice(0, 10)}. ${cpus().length} × ${cpu?.model.trim()},
${Math.round(totalmem() / 2 ** 30)} GB, Linux ${version("uname", ["-r"])}, Node ${process.version}, ${version("rustc", ["--version"])}.
Medians of ${rounds} rounds; the columns of a row were measured in turn, each in a process of its own. × is the
multiple of the row's reference, in the same run. Time is what the caller waits for; CPU and peak memory are
the client process's (the agent's, where the row says so; never the ssh that one starts). bare and plain read
with \`fetch\`, bare-http with \`node:http\`; so does sandpipe in Node, but for the data of chunked answers, as the agent's are.
`;
}
