import { BackgroundError, isSandpipeError } from "../core/errors.js";
import type { PolicySummary } from "../policy-summary.js";
import { policyText, refusalLine } from "./policy-text.js";
import type { Tool } from "./tool.js";

/** Tools whose results have the output of commands, behind an empty line. */
const WITH_OUTPUT: ReadonlySet<string> = new Set(["bash", "bash_background_output"]);

/** Tools that change something by themselves. */
const DESCRIBED: ReadonlySet<string> = new Set(["bash", "file_write", "file_edit"]);

/**
 * Tells a model of the policy: by the description of a tool that it confines, and by a line of a result or an error where the policy has
 * refused something. The output of a command stays as it is.
 */
export function underPolicy<Name extends string>(
  tool: Tool<Name>,
  policy: PolicySummary,
): Tool<Name> {
  const { name, description } = tool;
  return {
    ...tool,
    description: DESCRIBED.has(name) ? `${description} ${policyText(policy)}` : description,
    execute: async (input, options) => {
      try {
        const result = await tool.execute(input, options);
        return WITH_OUTPUT.has(name) ? withLine(result, policy) : result;
      } catch (error) {
        throw withReason(error, policy);
      }
    },
  };
}

/** Adds the line to the head of a result. */
function withLine(result: string, policy: PolicySummary): string {
  const end = result.indexOf("\n\n");
  const line = end < 0 ? undefined : refusalLine(policy, result.slice(end));
  return line === undefined ? result : `${result.slice(0, end)}\n${line}${result.slice(end)}`;
}

/** Adds the line to the message of an error of a tool. */
function withReason(error: unknown, policy: PolicySummary): unknown {
  if (!isSandpipeError(error, "background")) return error;
  const line = refusalLine(policy, error.message);
  if (line === undefined) return error;
  const { operation, output, id, cause } = error;
  return new BackgroundError(`${error.message}\n${line}`, { operation, output, id, cause });
}
