// @ts-check
// A client for another process to kill: it spawns a script and tells which.
import { background } from "sandpipe";
import { localRuntime } from "sandpipe/node";

const [baseDir = "", script = ""] = process.argv.slice(2);
const { id } = await background(localRuntime(), { baseDir }).spawn(script);
console.log(id);
// It is killed before.
setInterval(() => undefined, 1_000_000);
