// @ts-check
/** The client's simulation and the fuzz targets, with five times as many seeds as `npm test` takes. */

import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { root, target } from "../../../scripts/project.mjs";
import { Row } from "./row.mjs";

const SIMULATION_SEEDS = 7_500;
const FUZZ_INPUTS = 10_000;

/** @type {import("./row.mjs").Scenario} */
export const seeds = {
  name: "seeds",
  async run(deadline) {
    const simulation = new Row(`simulation: ${SIMULATION_SEEDS} seeds of each operation`);
    const fuzz = new Row(`fuzz: ${FUZZ_INPUTS} inputs of each target`);
    do {
      await cargo(
        simulation,
        ["test", "--locked", "-p", "sandpipe-client", "--test", "simulation"],
        {
          SIMULATION_START: String(randomInt(2 ** 40)),
          SIMULATION_SEEDS: String(SIMULATION_SEEDS),
        },
      );
      const own = ["--inputs", String(FUZZ_INPUTS), "--seed", String(randomInt(2 ** 40))];
      const program = [
        "--locked",
        "--profile=fuzz",
        "-p",
        "sandpipe-fuzz",
        "--bin",
        "sandpipe-fuzz",
      ];
      await cargo(fuzz, ["run", ...program, "--", ...own], {});
    } while (performance.now() < deadline);
    return [simulation, fuzz];
  },
};

/**
 * @param {Row} row
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
async function cargo(row, args, env) {
  const child = spawn("cargo", args, {
    cwd: root,
    env: { ...process.env, CARGO_TARGET_DIR: target, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (said += text));
  }
  const [exitCode] = await once(child, "close");
  // The program says itself how to repeat what failed.
  const broken = exitCode === 0 ? [] : [`${JSON.stringify(env)} ${said.slice(-2_000)}`];
  row.add({ runs: 1, struck: 0, survived: 0 }, broken);
}
