import type { CommandGroup } from "../command-line/command.js";
import { logs } from "./bg/logs.js";
import { ls } from "./bg/ls.js";
import { rm } from "./bg/rm.js";
import { start } from "./bg/start.js";
import { stop } from "./bg/stop.js";
import { wait } from "./bg/wait.js";

export const bg: CommandGroup = {
  name: "bg",
  summary: "processes in the background that outlive sandpipe",
  about:
    "Starts and looks after processes that go on when sandpipe has ended, on this machine, an agent's or " +
    "one over SSH. All that there is to know of them is in files there.",
  options: {},
  commands: [start, ls, logs, wait, stop, rm],
  examples: [
    "sandpipe bg start --name 'dev server' -- npm run dev",
    "sandpipe bg ls",
    "sandpipe bg logs -f --grep 'error|warn' 3f9c04",
  ],
};
