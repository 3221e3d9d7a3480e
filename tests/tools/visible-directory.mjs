// @ts-check
import { mkdtempSync, realpathSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { join } from "node:path";

import { target } from "../../scripts/project.mjs";

/** Directories that commands under a policy do not see: others are in their place. */
const HIDDEN = ["/tmp", "/var/tmp", "/run", "/var/run", "/dev", "/proc"];

/**
 * Makes a directory that commands under a policy see: for a made-up home, or for a file that they
 * may not write. Neither the checkout nor the directory of temporary files is sure to be visible.
 */
export function visibleDirectory() {
  const parents = [target, userInfo().homedir, homedir(), tmpdir()];
  for (const parent of parents) {
    try {
      const real = realpathSync(parent);
      if (HIDDEN.some((hidden) => `${real}/`.startsWith(`${hidden}/`))) continue;
      return mkdtempSync(join(real, "sandpipe-test-"));
    } catch {
      // It does not exist, or belongs to another user.
    }
  }
  const names = parents.join(", ");
  throw new Error(
    `commands under a policy see none of ${names}: set TMPDIR to a directory elsewhere`,
  );
}
