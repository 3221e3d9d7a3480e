import type { Background } from "../../background.js";
import { background } from "../../node.js";
import type { Values } from "../command-line/command.js";
import type { Outcome, StandardOutput } from "../ending/ending.js";
import { interruptible } from "../ending/interruptible.js";
import { reachRuntime, type RUNTIME } from "./runtime.js";

/** Does something with the background processes of the machine that the options name. */
export async function onTarget(
  values: Values<typeof RUNTIME>,
  work: (
    processes: Background,
    output: StandardOutput,
    told: AbortSignal,
  ) => Promise<Outcome | undefined>,
): Promise<Outcome> {
  const runtime = await reachRuntime(values);
  return await interruptible(
    (output, told) => work(background(runtime), output, told),
    () => runtime.close(),
  );
}
