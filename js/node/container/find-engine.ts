import { agentError } from "../agent-address.js";
import { explainNoProgram, lookUp } from "../find-program.js";
import { explainNoEngine } from "./explain.js";
import { type Engine, ENGINES } from "./options.js";

/** An engine that is there. */
export interface FoundEngine {
  engine: Engine;
  /** Its program: an absolute path. */
  program: string;
}

/**
 * Finds the engine that is named, else the first one in `PATH`.
 *
 * @throws {AgentError} It is not there.
 */
export function findEngine(named: Engine | undefined): FoundEngine {
  const leftOut: string[] = [];
  for (const engine of named === undefined ? ENGINES : [named]) {
    const found = lookUp(engine);
    if (found.file !== undefined) return { engine, program: found.file };
    if (found.leftOut.length > 0) leftOut.push(explainNoProgram(engine, found.leftOut));
  }
  throw agentError(explainNoEngine(named, leftOut));
}
