import { EthernetPort, FolderTree, Layers, MessageSquareCode, SquareTerminal } from "lucide";
import type { Picture } from "../design/icon.js";
import type { Page } from "../route.js";

/** What a page is called. */
export const TITLES: Readonly<Record<Page, string>> = {
  runs: "Runs",
  files: "Files",
  ports: "Ports",
  background: "Background",
  sessions: "Sessions",
};

/** Its picture in the navigation. */
export const PICTURES: Readonly<Record<Page, Picture>> = {
  runs: SquareTerminal,
  files: FolderTree,
  ports: EthernetPort,
  background: Layers,
  sessions: MessageSquareCode,
};

/** What it is for, said while there is nothing in it. */
export const PURPOSES: Readonly<Record<Page, string>> = {
  runs: "Every command that this agent runs is listed here, live, with its output and what became of it: those you start here, and those of programs and of the command line.",
  files:
    "The directories and files that commands work on are listed here, as they are now. Each can be looked at, downloaded and removed, and new ones can be uploaded.",
  ports:
    "A server that a command starts is listed here as soon as it takes connections: its port, its process, its run, and how it is reached from your machine.",
  background:
    "A process that is started here outlives this page, the connection and the agent: a development server, say. It is in files on the target, and anyone with the agent’s admin token finds it there.",
  sessions:
    "A session is a shell that remembers its directory, variables and functions from run to run. It belongs to this page: it ends when it is closed, or when you sign out.",
};
