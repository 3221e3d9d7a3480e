// @ts-check
// Creates a sandbox, forwards a port of it, types into a terminal, and prints what came as JSON.
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { createSandbox, forwardPort } from "sandpipe/node";

const sandbox = await createSandbox({ policy: "open" });
const code = `require("net").createServer((socket) => socket.end("from the sandbox"))
  .listen(0, "127.0.0.1", function () { console.log("port", this.address().port) })`;
const server = await sandbox.execs.create({ command: process.execPath, args: ["-e", code] });
const { match } = await sandbox.execs.waitForOutput(server.id, /port (\d+)/);
const { port, close } = await forwardPort(sandbox, Number(match[1]), { localPort: 0 });
const socket = connectTcp(port, "127.0.0.1").setEncoding("utf8");
let forwarded = "";
socket.on("data", (text) => (forwarded += text));
await once(socket, "end");
await close();
const { id } = await sandbox.execs.create({ command: "sh", args: ["-c", "read it"], pty: true });
const terminal = await sandbox.execs.attach(id);
await terminal.write("typed\r");
let typed = "";
for await (const event of terminal) typed += event.output;
console.log(JSON.stringify({ forwarded, typed }));
await sandbox.stop();
