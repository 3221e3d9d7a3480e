// @ts-check
/** Checks that the client's crate stays free of JavaScript and of I/O: its host has both. */

import { execFileSync } from "node:child_process";
import { command } from "./command.mjs";
import { root } from "./project.mjs";

const FORBIDDEN = /^(js-sys|wasm-bindgen|web-sys|gloo|tokio)/;

await command(async () => {
  const tree = ["tree", "--package=sandpipe-client", "--edges=normal", "--prefix=none"];
  const crates = execFileSync("cargo", [...tree, "--target=wasm32-unknown-unknown"], {
    cwd: root,
    encoding: "utf8",
  });
  const found = crates.split("\n").filter((crate) => FORBIDDEN.test(crate));
  for (const crate of new Set(found)) console.error(`sandpipe-client depends on ${crate}`);
  return found.length > 0 ? 1 : 0;
});
