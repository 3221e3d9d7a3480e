import type { Sandbox } from "sandpipe";
import { Outputs } from "./output/outputs.js";
import { Runs } from "./runs/runs.js";

/** The agent that the console shows, and what is shown of it. */
export interface Agent {
  sandbox: Sandbox;
  runs: Runs;
  outputs: Outputs;
}

/** Begins to follow an agent's runs. */
export function openAgent(sandbox: Sandbox): Agent {
  return { sandbox, runs: new Runs(sandbox), outputs: new Outputs(sandbox.execs) };
}

export function closeAgent({ sandbox, runs, outputs }: Agent): void {
  outputs.close();
  runs.close();
  sandbox.close();
}
