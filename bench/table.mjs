// @ts-check
import { execFileSync } from "node:child_process";
import { cpus, totalmem } from "node:os";

/** @param {number[]} numbers */
export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return /** @type {number} */ (sorted[sorted.length >> 1]);
}

/** @param {{ row: import("./main.mjs").Row, samples: Record<string, import("./main.mjs").Sample[]> }[]} results */
export function markdown(results) {
  const lines = ["| | | time | × | CPU | × | peak memory |", "|---|---|---|---|---|---|---|"];
  for (const { row, samples } of results) {
    const middle = (
      /** @type {string} */ column,
      /** @type {"ms" | "cpuMs" | "rssMb"} */ figure,
    ) => {
      const numbers = (samples[column] ?? []).flatMap((sample) => sample[figure] ?? []);
      return numbers.length === 0 ? undefined : median(numbers);
    };
    const ratio = (
      /** @type {number | undefined} */ value,
      /** @type {number | undefined} */ to,
    ) => (value === undefined || to === undefined ? "" : (value / to).toFixed(2));
    const shown = (/** @type {number | undefined} */ value, /** @type {string} */ unit) =>
      value === undefined ? "" : `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ${unit}`;
    for (const [index, column] of Object.keys(samples).entries()) {
      const [ms, cpu] = [middle(column, "ms"), middle(column, "cpuMs")];
      const cells = [
        ...[index === 0 ? row.title : "", column],
        ...[shown(ms, "ms"), ratio(ms, middle(row.reference, "ms"))],
        ...[shown(cpu, "ms"), ratio(cpu, middle(row.reference, "cpuMs"))],
        shown(middle(column, "rssMb"), "MB"),
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
