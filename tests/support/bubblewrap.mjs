// @ts-check
import { spawnSync } from "node:child_process";

/** Why tests of policies are skipped; false where bubblewrap works on this machine. */
export const noBubblewrap =
  spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "true"]).status === 0
    ? false
    : "bubblewrap can't make namespaces on this machine";
