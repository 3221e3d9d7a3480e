// @ts-check
/** Files and directories, there and back. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measured } from "../child.mjs";

/** A directory for a row, in which a script of its own has put what is copied. @param {string} what */
async function prepared(what) {
  const folder = await mkdtemp(join(tmpdir(), "sandpipe-bench-"));
  await measured("files.mjs", [what, folder]);
  return { folder, end: () => rm(folder, { recursive: true }) };
}

/** @type {import("../main.mjs").Row[]} */
export const filesRows = [
  ...["upload", "download"].map((what) => ({
    name: `files-${what}`,
    title: `10,000 files of 0 to 3 KB as a directory, ${what}`,
    reference: "tar to tar",
    async open() {
      const { folder, end } = await prepared("make-tree");
      const columns = {
        "tar to tar": () => measured("files.mjs", ["tar", folder]),
        sandpipe: () => measured("files.mjs", [what, folder]),
      };
      return { columns, end };
    },
  })),
  {
    name: "files-read",
    title: "100 MB of a file, read and thrown away",
    reference: "busybox httpd",
    async open() {
      const { folder, end } = await prepared("make-100mb");
      const columns = {
        "busybox httpd": () => measured("files.mjs", ["bare-read", folder]),
        sandpipe: () => measured("files.mjs", ["read", folder]),
      };
      return { columns, end };
    },
  },
  ...["client", "agent"].map((what) => ({
    name: `files-1gb-${what}`,
    title: `1 GB of a file, up and down: how much more memory than idle, the ${what}`,
    reference: "sandpipe",
    async open() {
      const { folder, end } = await prepared("make-1gb");
      const columns = { sandpipe: () => measured("files.mjs", [`${what}-memory`, folder]) };
      return { columns, end };
    },
  })),
];
