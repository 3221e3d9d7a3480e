// @ts-check
/**
 * `npm run fuzz [-- --engine libfuzzer|mutations] [--inputs N] [--seed N] [TARGET…]`: feeds the fuzz targets
 * with ten million inputs each, prints a row for each, and keeps the rows of all in bench/FUZZ.md.
 *
 * libFuzzer needs a nightly toolchain and cargo-fuzz (`cargo install cargo-fuzz`), and is what is used where
 * both are there; the targets' own mutations need the project's toolchain alone.
 */

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { ask, mustRun } from "./child-process.mjs";
import { command } from "./command.mjs";
import { root, target } from "./project.mjs";

/**
 * @typedef {object} Row
 * @property {string} target
 * @property {number} inputs
 * @property {number} seconds
 * @property {string} memory
 * @property {string} [failure] what was wrong, and with which input
 *
 * @typedef {object} Options
 * @property {number} inputs
 * @property {number} seed
 *
 * @typedef {object} Engine
 * @property {string} about
 * @property {() => Promise<void>} prepare
 * @property {(target: string, options: Options) => Promise<Row>} feed
 */

const INPUTS = 10_000_000;

const execute = promisify(execFile);

const runner = join(target, "fuzz", "sandpipe-fuzz");
const corpus = join(root, "fuzz", "corpus");

/** @type {Record<"mutations" | "libfuzzer", Engine>} */
const ENGINES = {
  mutations: {
    about:
      "the targets' own mutations of seeds and words, without a look at coverage; stable toolchain",
    prepare: async () => {},
    async feed(target, { inputs, seed }) {
      const args = ["--inputs", String(inputs), "--seed", String(seed), target];
      const { output } = await collect(runner, args);
      const { peak, failure, input, ...row } = JSON.parse(output);
      return {
        ...row,
        memory: `${Math.ceil(peak / 1024)} KiB`,
        ...(failure === null ? {} : { failure: `${input}: ${failure}` }),
      };
    },
  },
  libfuzzer: {
    about:
      "libFuzzer by cargo-fuzz, led by coverage; nightly toolchain, no sanitizer: the code is safe Rust",
    async prepare() {
      await mkdir(corpus, { recursive: true });
      await mustRun(runner, ["--write-seeds", corpus]);
      await mustRun("cargo", ["+nightly", "fuzz", "build", "--sanitizer=none"]);
    },
    async feed(target, { inputs, seed }) {
      const start = performance.now();
      const libfuzzer = [
        `-runs=${inputs}`,
        `-seed=${seed}`,
        `-dict=${join(corpus, `${target}.dict`)}`,
        "-max_len=4096",
        "-rss_limit_mb=1024",
        "-print_final_stats=1",
      ];
      const built = ["+nightly", "fuzz", "run", "--sanitizer=none", target, join(corpus, target)];
      const { exitCode, output } = await collect("cargo", [...built, "--", ...libfuzzer]);
      const stat = (/** @type {string} */ name) =>
        Number(new RegExp(`^stat::${name}:\\s+(\\d+)$`, "m").exec(output)?.[1] ?? 0);
      const failure = /^(?:thread .*|==\d+== ERROR.*|Test unit written to .*)$/gm;
      return {
        target,
        inputs: stat("number_of_executed_units"),
        seconds: (performance.now() - start) / 1000,
        memory: `${stat("peak_rss_mb")} MiB, the process`,
        ...(exitCode === 0 ? {} : { failure: (output.match(failure) ?? ["?"]).join("; ") }),
      };
    },
  },
};

await command(async () => {
  const { values, positionals } = parseArgs({
    options: {
      engine: { type: "string" },
      inputs: { type: "string", default: String(INPUTS) },
      seed: { type: "string", default: "1" },
    },
    allowPositionals: true,
  });
  const name = values.engine ?? (hasLibFuzzer() ? "libfuzzer" : "mutations");
  if (name !== "libfuzzer" && name !== "mutations") {
    console.error(`There is no engine "${name}", only: ${Object.keys(ENGINES).join(", ")}.`);
    return 2;
  }
  const engine = ENGINES[name];
  const options = { inputs: Number(values.inputs), seed: Number(values.seed) };
  if (!Number.isSafeInteger(options.inputs) || !Number.isSafeInteger(options.seed)) {
    console.error("--inputs and --seed are whole numbers.");
    return 2;
  }
  await mustRun("cargo", [
    "build",
    "--profile=fuzz",
    "--package=sandpipe-fuzz",
    "--bin=sandpipe-fuzz",
  ]);
  const all = (await collect(runner, ["--list"])).output.trim().split("\n");
  const unknown = positionals.find((target) => !all.includes(target));
  if (unknown !== undefined) {
    console.error(`There is no target "${unknown}", only: ${all.join(", ")}.`);
    return 2;
  }
  await engine.prepare();

  const rows = await feedAll(engine, positionals.length > 0 ? positionals : all, options);
  const text = report(name, rows, options);
  console.log(`\n${text}`);
  // A part of it is not the whole.
  if (positionals.length === 0 && options.inputs >= INPUTS) {
    await writeFile(join(root, "bench", "FUZZ.md"), text);
  }
  return rows.some(({ failure }) => failure !== undefined) ? 1 : 0;
});

function hasLibFuzzer() {
  return ask("cargo", ["+nightly", "fuzz", "--version"]) !== undefined;
}

/**
 * As many targets at a time as there are processors.
 *
 * @param {Engine} engine
 * @param {readonly string[]} targets
 * @param {Options} options
 */
async function feedAll(engine, targets, options) {
  /** @type {Row[]} */
  const rows = [];
  const waiting = [...targets];
  const work = async () => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      const row = await engine.feed(target, options);
      rows.push(row);
      console.log(line(row));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  const place = (/** @type {Row} */ { target }) => targets.indexOf(target);
  return rows.sort((a, b) => place(a) - place(b));
}

/** @param {Row} row */
function line({ target, inputs, seconds, memory, failure }) {
  return `| ${target} | ${inputs} | ${seconds.toFixed(0)} | ${memory} | ${failure ?? "nothing wrong"} |`;
}

/**
 * @param {string} engine
 * @param {readonly Row[]} rows
 * @param {Options} options
 */
function report(engine, rows, { seed }) {
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.version}`;
  return `# Fuzzing

\`npm run fuzz\`, ${date}. ${machine}, ${ask("rustc", ["--version"])}.
Engine: ${ENGINES[/** @type {"mutations"} */ (engine)].about}; seed ${seed}.
The targets are in \`fuzz/src/targets/\`: each compares a parser with a plain reference, with itself where the input is cut otherwise, and with a bound on its
memory, which the target states. Memory is the most that a parser held for one input, unless it says otherwise; that of
\`request\`, an agent's whole HTTP interface, is not counted.

| target | inputs | seconds | peak memory | result |
|---|---|---|---|---|
${rows.map(line).join("\n")}
`;
}

/**
 * Runs a program quietly.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {Promise<{ exitCode: number | null, output: string }>} \`output`: of cargo both streams
 */
async function collect(program, args) {
  const env = { ...process.env, CARGO_TARGET_DIR: target };
  const running = execute(program, args, { cwd: root, env, maxBuffer: Infinity });
  const { code = 0, stdout, stderr } = await running.catch((error) => error);
  if (typeof code === "string") await running;
  return { exitCode: code, output: program === "cargo" ? stdout + stderr : stdout };
}
