import type { CommandGroup } from "./command.js";
import { agent } from "./commands/agent.js";
import { attach } from "./commands/attach.js";
import { bg } from "./commands/bg.js";
import { completion } from "./commands/completion.js";
import { browserConsole } from "./commands/console.js";
import { cp } from "./commands/cp.js";
import { files } from "./commands/files.js";
import { forward } from "./commands/forward.js";
import { help } from "./commands/help.js";
import { kill } from "./commands/kill.js";
import { logs } from "./commands/logs.js";
import { mcp } from "./commands/mcp.js";
import { policy } from "./commands/policy.js";
import { ps } from "./commands/ps.js";
import { rm } from "./commands/rm.js";
import { run } from "./commands/run.js";
import { stop } from "./commands/stop.js";
import { token } from "./commands/token.js";
import { waitPort } from "./commands/wait-port.js";

/**
 * The program with all its commands.
 *
 * A command is a file in commands/ that defines it with {@link command}, and an entry here: the
 * dispatch, the help and the completion follow.
 */
export const PROGRAM: CommandGroup = {
  name: "sandpipe",
  summary: "",
  about: "Runs commands in sandboxes.",
  options: { version: { short: "v", help: "show the version" } },
  commands: [
    ...[run, ps, logs, attach, kill, stop, rm],
    ...[cp, files, forward, waitPort],
    ...[bg, agent, policy, token, browserConsole, mcp],
    completion(() => PROGRAM),
    help(() => PROGRAM),
  ],
  examples: [
    "sandpipe run -- npm test",
    "sandpipe agent    # prints what to set in another terminal, for `sandpipe ps` and the like",
    "sandpipe bg start --ssh build.example.com -- make all",
  ],
};
