// @ts-check
// What `npm start` runs: a command in a sandbox that lives as long as this does.
import { once } from "node:events";
import { isSandpipeError } from "sandpipe";
import { createSandbox } from "sandpipe/node";

const own = process.argv.slice(2);
const [command = "sh", ...args] =
  own.length > 0 ? own : ["sh", "-c", "echo hello; echo oops >&2; exit 3"];

const sandbox = await createSandbox().catch((error) => {
  if (!isSandpipeError(error, "agent")) throw error;
  console.error(`Commands run unconfined, with your permissions: ${error.message}`);
  return createSandbox({ policy: "open" });
});

// Ctrl+C ends the command with its agent; a second one doesn't wait for that.
let isInterrupted = false;
const interrupted = once(process, "SIGINT").then(() => {
  console.error("stopping; Ctrl+C again to kill now");
  isInterrupted = true;
  return 130;
});
try {
  const exitCode = await Promise.race([runCommand(), interrupted]);
  process.exitCode = own.length > 0 ? exitCode : 0;
} finally {
  await sandbox.stop();
}
// So that a shell's loop around it ends, too.
if (isInterrupted) process.kill(process.pid, "SIGINT");

async function runCommand() {
  console.log(`$ ${[command, ...args].join(" ")}`);
  const result = await sandbox.execs.exec(command, args, {
    onOutput({ timestamp = "", type, sequence, output }) {
      const time = timestamp.slice(11, 23);
      console.log(`${time}  ${type}  ${sequence}  ${JSON.stringify(output)}`);
    },
  });
  console.log("exit code:", result.exitCode);
  console.log("output:", JSON.stringify(result.output));
  return result.exitCode;
}
