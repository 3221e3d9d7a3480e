import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { environmentOfPrograms, lookUp } from "../node/find-program.js";
import { folderOfTokens } from "./folder-of-tokens.js";

/** What was opened. */
export interface OpenedPage {
  /** Whether there was something to open it with. */
  opened: boolean;
  /** Removes the file that leads there. */
  remove(): Promise<void>;
}

/**
 * Opens an address in the user's browser, through a file of the user's own that leads there: the address
 * has a token in it, and everybody may read what a program is called with. The file is there until it
 * is removed.
 */
export async function openInBrowser(address: string): Promise<OpenedPage> {
  const folder = await mkdtemp(join(folderOfTokens(), "sandpipe-console-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    return { opened: await open(address, join(folder, "console.html")), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Writes the page that leads to the address and opens it; false where there is nothing to open it with. */
async function open(address: string, page: string): Promise<boolean> {
  const script = `location.replace(${JSON.stringify(address).replaceAll("<", "\\u003c")})`;
  await writeFile(page, `<!doctype html><meta charset="utf-8"><script>${script}</script>\n`, {
    mode: 0o600,
  });
  const { file: opener } = lookUp(process.platform === "darwin" ? "open" : "xdg-open");
  if (opener === undefined) return false;
  const child = spawn(opener, [pathToFileURL(page).href], {
    ...{ detached: true, stdio: "ignore", env: environmentOfPrograms() },
  });
  const opened = await once(child, "spawn").then(
    () => true,
    () => false,
  );
  child.unref();
  return opened;
}
