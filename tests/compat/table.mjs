// @ts-check
/** The table, from results; pure. */

/** @typedef {import("./row.mjs").Result} Result */

/** @param {Result} result */
export function verdict({ workaround, failure }) {
  if (failure !== undefined) return "fails";
  return workaround === undefined ? "works" : `works with: ${workaround}`;
}

/**
 * Whether every part of every row worked: the documentation has no table of less.
 *
 * @param {readonly Result[]} results
 * @param {readonly import("./row.mjs").Row[]} rows all there are
 */
export function isComplete(results, rows) {
  return rows.every(({ name, parts }) =>
    Object.keys(parts).every((part) =>
      results.some(
        (result) => result.row === name && result.part === part && result.failure === undefined,
      ),
    ),
  );
}

/**
 * @param {readonly Result[]} results of a run that is complete
 * @param {string} day of the run
 */
export function document(results, day) {
  const families = [...new Set(results.map(({ family }) => family))];
  const tables = families.map((family) => {
    const lines = results.filter((result) => result.family === family).map(tableLine);
    return `## ${family}\n\n| | how | |\n|---|---|---|\n${lines.join("\n")}\n`;
  });
  return `# Where it works

\`npm run compat\` wrote this on ${day}. Each name is a fresh application with the packed packages installed. In each line it runs
a command, aborts one, leaves the stream of one early, and reads 20 MB of output: exit codes, lengths and hashes are
compared with what is right. "works" is: with no line of configuration for this package; "works with" has the one line that
it takes, and the error without it leads to that line. What a tool needs for any package (a flag of Jest's for ES modules, a plugin
of Rollup's) it has.

${tables.join("\n")}`;
}

/** @param {Result} result */
function tableLine(result) {
  return `| ${result.version} | ${result.part} | ${verdict(result)} |`;
}
