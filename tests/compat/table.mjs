// @ts-check
/** The table, from results; pure. */

/** @typedef {import("./row.mjs").Result} Result */

/** The most of an error that the table has. */
const MAX_ERROR_LENGTH = 200;

/** @param {Result} result */
export function verdict({ line, failure }) {
  if (failure !== undefined) return "fails";
  return line === undefined ? "works" : `works with: ${line}`;
}

/**
 * @param {readonly Result[]} results
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
compared with what is right. "works" is: with no line of configuration for this package. What a tool needs for any package (a flag of
Jest's for ES modules, a plugin of Rollup's) it has.

${tables.join("\n")}`;
}

/** @param {Result} result */
function tableLine(result) {
  const { version, part, failure } = result;
  const said = failure === undefined ? verdict(result) : `fails: ${cell(failure)}`;
  return `| ${version} | ${part} | ${said} |`;
}

/**
 * The beginning of an error, as a cell of a table.
 *
 * @param {string} text
 */
function cell(text) {
  const line = text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").replaceAll("`", "'");
  return `\`${line.length > MAX_ERROR_LENGTH ? `${line.slice(0, MAX_ERROR_LENGTH)}…` : line}\``;
}
