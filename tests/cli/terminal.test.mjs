// @ts-check
// `sandpipe run -t`, in a real terminal.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { installSandpipe } from "../support/installed-cli.mjs";
import { until } from "../support/processes.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

/**
 * @param {string} script
 * @param {string[]} options
 */
const start = (script, ...options) =>
  sandpipe.startInTerminal(["run", ...options, "--", "sh", "-c", script]);

/** The terminal that an invocation runs in: the first thing that it says. @param {string} screen */
const terminalOf = (screen) => screen.split(/\r?\n/)[0] ?? "";

describe("sandpipe run -t", () => {
  it("gives the command a terminal of the same size and kind", async () => {
    const script =
      "test -t 0 && test -t 1 && test -t 2 && echo terminal; tty; stty size; echo $TERM";
    const invocation = await sandpipe.startInTerminal(["run", "-t", "--", "sh", "-c", script], {
      env: { TERM: "screen-256color" },
    });
    const { stdout } = await invocation.end;
    assert.match(stdout, /^terminal\r+\n\/dev\/pts\/\d+\r+\n30 100\r+\nscreen-256color\r+\n/m);
    assert.match(stdout, /^exit code 0\r\nrestored\r\n$/m);
    await invocation.leavesNothing();
  });

  it("gives the command the new size when the terminal is resized", async () => {
    const script = `trap 'stty size' WINCH
      echo ready; until [ "$(stty size)" = "40 120" ]; do sleep 0.05; done; echo resized`;
    const invocation = await start(script, "-t");
    await invocation.says("ready");
    const terminal = terminalOf(invocation.stdout);
    execFileSync("stty", ["-F", terminal, "rows", "40", "cols", "120"]);
    await invocation.says(/40 120\r+\n(.*\r+\n)?resized/);
    await invocation.end;
    await invocation.leavesNothing();
  });

  it("keeps the exit code, with the terminal as it was", async () => {
    const invocation = await start("exit 42", "-it");
    assert.match((await invocation.end).stdout, /exit code 42\r\nrestored\r\n$/);
    await invocation.leavesNothing();
  });

  it("hands bytes that are no text to the command with -it as they are", async () => {
    const script = "stty raw -echo; echo ready; head -c 4 | od -An -tx1";
    const invocation = await start(script, "-it");
    await invocation.says("ready");
    const keys = Buffer.from([0xff, 0xe2, 0x82, 0x7a]);
    for (const key of keys) invocation.stdin.write(Buffer.of(key));
    await invocation.says("ff e2 82 7a");
    await invocation.end;
    await invocation.leavesNothing();
  });

  it("hands every key to the command with -it, once, also Ctrl+C", async () => {
    const script = `stty -icanon -echo; trap 'echo interrupted' INT; echo ready
      while :; do
        key=$(dd bs=1 count=1 2>/dev/null) # The interrupt ends it, too.
        [ "$key" = q ] && break
        echo "key $key."
      done`;
    const invocation = await start(script, "-it");
    await invocation.says("ready");
    invocation.stdin.write("a");
    await invocation.says("key a.");
    // Before its execve(2) the interrupt is lost in the handler that it has from the shell.
    await until(async () => (await invocation.find("dd")) !== undefined);
    invocation.stdin.write("\x03");
    await invocation.says("interrupted");
    invocation.stdin.write("q");
    const { stdout } = await invocation.end;
    assert.match(
      stdout,
      /ready\s+key a\.\s+(key \.\s+)?interrupted\s+(key \.\s+)?exit code 0\r\nrestored/,
    );
    await invocation.leavesNothing();
  });

  it("ends an interactive shell by Ctrl+D", async () => {
    const invocation = await sandpipe.startInTerminal(["run", "-it", "sh"]);
    await invocation.says(/[#$] $/);
    invocation.stdin.write("echo $((6 * 7))\r");
    await invocation.says("42");
    invocation.stdin.write("\x04");
    assert.match((await invocation.end).stdout, /exit code 0\r\nrestored\r\n$/);
    await invocation.leavesNothing();
  });

  it("shows a file in less, which fills the terminal, and leaves it as it was", async () => {
    const lines = Array.from({ length: 200 }, (_, index) => `line ${index + 1}`);
    await writeFile(join(sandpipe.path, "long.txt"), `${lines.join("\n")}\n`);
    const less = ["run", "-it", "--env", "LESS=", "--", "less", "long.txt"];
    const env = { TERM: "xterm" };
    const invocation = await sandpipe.startInTerminal(less, { env });
    // The terminal's last row is for less itself.
    await invocation.says(/line 1\r+\n[^]*line 29\r+\n/);
    assert.doesNotMatch(invocation.stdout, /line 30\r/);
    invocation.stdin.write("G");
    await invocation.says(/line 200\r+\n/);
    invocation.stdin.write("q");
    const { stdout } = await invocation.end;
    // It switches to another screen, and back.
    assert.match(stdout, /\x1b\[\?1049h[^]*\x1b\[\?1049l/);
    assert.match(stdout, /exit code 0\r\nrestored\r\n$/);
    await invocation.leavesNothing();
  });

  it("edits a file in vi", async () => {
    await writeFile(join(sandpipe.path, "edited.txt"), "one\ntwo\n");
    const vi = ["run", "-it", "--", "vi", "edited.txt"];
    const invocation = await sandpipe.startInTerminal(vi, { env: { TERM: "xterm" } });
    await invocation.says(/two/);
    invocation.stdin.write("ojust typed\x1b:wq\r");
    assert.match((await invocation.end).stdout, /exit code 0\r\nrestored\r\n$/);
    const text = await readFile(join(sandpipe.path, "edited.txt"), "utf8");
    assert.equal(text, "one\njust typed\ntwo\n");
    await invocation.leavesNothing();
  });

  it("stops the command by Ctrl+C without -i", async () => {
    const invocation = await start(
      "trap 'echo bye; exit 7' TERM; sh -c 'echo ready; exec sleep 1000' & wait",
      "-t",
    );
    await invocation.says("ready");
    invocation.stdin.write("\x03");
    const { stdout } = await invocation.end;
    assert.match(stdout, /bye[^]*it ended with exit code 7\.\r\nexit code 130\r\nrestored\r\n$/);
    await invocation.leavesNothing();
  });

  it("stops the command by SIGTERM, with the terminal as it was", async () => {
    const invocation = await start("trap '' INT; echo ready; sleep 1000", "-it");
    await invocation.says("ready");
    await invocation.kill(sandpipe.script, "SIGTERM");
    assert.match((await invocation.end).stdout, /exit code 143\r\nrestored\r\n$/);
    await invocation.leavesNothing();
  });

  it("leaves the terminal as it was when it crashes, and nothing behind", async () => {
    const crash = `process.on("SIGUSR2", () => { throw new Error("crash"); })`;
    const invocation = await sandpipe.startInTerminal(
      ["run", "-it", "--", "sh", "-c", "echo ready; sleep 1000"],
      { env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}` } },
    );
    await invocation.says("ready");
    await invocation.kill(sandpipe.script, "SIGUSR2");
    assert.match((await invocation.end).stdout, /crash[^]*exit code 125\r\nrestored\r\n$/);
    await invocation.willLeaveNothing();
  });

  it("stops the command when its terminal goes away", async () => {
    const invocation = await start("trap '' HUP; echo ready; sleep 1000", "-it");
    await invocation.says("ready");
    invocation.child.kill("SIGKILL");
    await invocation.end;
    await invocation.willLeaveNothing();
  });

  it("hears a signal while the terminal takes no output", async () => {
    const invocation = await start("echo ready; yes");
    await invocation.says("ready");
    // As Ctrl+S does: what script reads no more stays in the terminal.
    invocation.child.kill("SIGSTOP");
    await invocation.kill(sandpipe.script, "SIGTERM");
    await invocation.ends("yes");
    await invocation.kill(sandpipe.script, "SIGTERM");
    await invocation.ends(sandpipe.script);
    invocation.child.kill("SIGCONT");
    assert.match((await invocation.end).stdout, /exit code 143\r\nrestored\r\n$/);
    await invocation.leavesNothing();
  });
});
