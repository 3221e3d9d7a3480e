import type { Background } from "../background.js";
import { inputSchema } from "./input.js";
import { checkProcessId, statusLine } from "./processes.js";
import { defineTool, type Tool } from "./tool.js";

/** The tool that stops a process. */
export function bashBackgroundTerminateTool(
  processes: Background,
): Tool<"bash_background_terminate"> {
  return defineTool({
    name: "bash_background_terminate",
    description:
      "Stops a process with all that it has started: SIGTERM to its process group, SIGKILL after 10 seconds. Returns when nothing of it runs any more. Its output stays readable.",
    inputSchema: inputSchema(
      { process_id: { type: "string", minLength: 1, description: "The id that bash gave." } },
      ["process_id"],
    ),
    annotations: {
      title: "Stop a background process",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    },
    run: async ({ process_id: id }) => {
      checkProcessId(id);
      const process = await processes.terminate(id);
      return `${statusLine(process)}\n\nNothing of its process group runs any more.`;
    },
  });
}
