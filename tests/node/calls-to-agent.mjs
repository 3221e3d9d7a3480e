// @ts-check
// Makes calls of each kind to an agent, in the runtime that it is started with, and prints what they gave as JSON.
import { connect } from "sandpipe";

const [url = "", token = "", elsewhere = ""] = process.argv.slice(2);

const sandbox = await connect({ url, token });
const secret = { env: { SECRET: "in-clear" } };
const { output } = await sandbox.execs.exec("sh", ["-c", "printf $SECRET; cat"], {
  ...secret,
  input: " fed",
});
await sandbox.files.write("via", "a file");
const file = await sandbox.files.read("via");
const { id } = await sandbox.execs.create({ command: "sh", args: ["-c", "read it"], pty: true });
const terminal = await sandbox.execs.attach(id);
await terminal.write("typed\r");
let shown = "";
for await (const event of terminal) shown += event.output;
const stop = new AbortController();
const stopped = await sandbox.execs
  .exec("sh", ["-c", "echo begun; exec sleep 100"], {
    signal: stop.signal,
    onOutput: () => stop.abort(),
  })
  .catch((/** @type {import("sandpipe").InterruptedError} */ error) => error.code);
sandbox.close();
const failed = await (
  await connect({ url: elsewhere, token, retry: { maxAttempts: 1 } })
).execs
  .list()
  .catch((/** @type {Error} */ error) => error.name);
console.log(JSON.stringify({ output, file, shown, stopped, failed }));
