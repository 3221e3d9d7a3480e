import { agentError } from "../agent-address.js";
import { findProgram } from "../find-program.js";
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
  for (const engine of named === undefined ? ENGINES : [named]) {
    const program = findProgram(engine);
    if (program !== undefined) return { engine, program };
  }
  throw agentError(explainNoEngine(named));
}
