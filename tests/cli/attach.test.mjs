// @ts-check
// `sandpipe attach`, in a real terminal and without one.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, describe, it } from "node:test";
import { until } from "../support/processes.mjs";
import { installWithAgent } from "./with-agent.mjs";

const { sandpipe, execs, env, remove } = await installWithAgent();

after(remove);

/**
 * Creates an exec and waits until it is ready.
 *
 * @param {string} script
 * @param {Partial<import("sandpipe").CreateExecRequest>} [more]
 */
async function create(script, more) {
  const ready = ["-c", `echo ready; ${script}`];
  const { id } = await execs.create({ command: "sh", args: ready, ...more });
  await until(async () => (await execs.getOutput(id)).output.includes("ready"));
  return id;
}

const inTerminal = (/** @type {string} */ id) =>
  sandpipe.startInTerminal(["attach", id.slice(0, 16)], { env });

/** Says every key that it gets, once it is in raw mode. */
const KEYS = `stty raw -echo; echo raw; while key=$(dd bs=1 count=1 2>/dev/null | od -An -tx1); do
  echo "key$key."; [ "$key" = " 71" ] && exit 42; done`;

describe("sandpipe attach, to a terminal", () => {
  it("hands over every key and the size, and ends with the command's exit code", async () => {
    const script = `until [ "$(stty size)" = "30 100" ]; do sleep 0.05; done; ${KEYS}`;
    const id = await create(`${script}`, { pty: true });
    const invocation = await inTerminal(id);
    await invocation.says("raw");
    invocation.stdin.write("a\x03\x10b");
    await invocation.says(/key 61\.\s+key 03\.\s+key 10\.\s+key 62\./);
    invocation.stdin.write("q");
    assert.match((await invocation.end).stdout, /exit code 42\r\nrestored\r\n$/);
  });

  it("is left by Ctrl+P Ctrl+Q, also in two pieces, and the command goes on", async () => {
    const id = await create(KEYS, { pty: true });
    // What was said before is shown again: each has a key of its own.
    for (const [first, says, second] of /** @type {const} */ ([
      ["a", "key 61.", "\x10\x11"],
      ["b\x10", "key 62.", "\x11"],
    ])) {
      const invocation = await inTerminal(id);
      await invocation.says("raw");
      invocation.stdin.write(first);
      await invocation.says(says);
      invocation.stdin.write(second);
      const { stdout } = await invocation.end;
      assert.match(
        stdout,
        /\nsandpipe: left: exec \w+ goes on; `sandpipe attach \w+` comes back\.\r\n/,
      );
      assert.match(stdout, /\nexit code 130\r\nrestored\r\n$/);
      assert.equal((await execs.get(id)).status, "RUNNING");
    }
    await execs.sendStdin(id, { input: "q" });
    const { exitCode, output } = await execs.wait(id);
    assert.equal(exitCode, 42);
    assert.doesNotMatch(output, /key 1[01]\./);
  });

  it("has this terminal answer what is asked now, and nothing that was asked before", async () => {
    const pieces = [
      // Its kind; the cursor's place and a setting, which come in two pieces each; a colour; ENQ.
      String.raw`\033[c\033[31mred\033[0m\033[`,
      String.raw`6n\033]11;?\007\033]0;title\007\033P$qm\033`,
      String.raw`\\\005end`,
    ];
    const step = "dd bs=1 count=1 >/dev/null 2>&1;";
    const script = pieces.map((piece) => `printf '${piece}'; ${step}`).join(" ");
    const ask = String.raw`printf '\033[5n'; dd bs=1 count=4 2>/dev/null | od -An -tx1; exit 42`;
    const id = await create(`stty raw -echo; ${script} ${ask}`, { pty: true });
    for (const written of ["\x1b[0m\x1b[", "$qm\x1b"]) {
      await until(async () => (await execs.getOutput(id)).output.endsWith(written));
      await execs.sendStdin(id, { input: "x" });
    }
    await until(async () => (await execs.getOutput(id)).output.endsWith("end"));
    const invocation = await inTerminal(id);
    await invocation.says("end");
    const [, old = ""] = /ready\s+([^]*)end/.exec(invocation.stdout) ?? [];
    assert.equal(old, "\x1b[31mred\x1b[0m\x1b]0;title\x07");
    invocation.stdin.write("x");
    await invocation.says(/\x1b\[5n/);
    invocation.stdin.write("\x1b[0n");
    assert.match((await invocation.end).stdout, /1b 5b 30 6e[^]*exit code 42\r\nrestored\r\n$/);
  });

  it("is left by Ctrl+C where the command takes no keys", async () => {
    const id = await create("sleep 1000", { pty: true, interactive: false });
    const invocation = await inTerminal(id);
    await invocation.says("ready");
    const [terminal = ""] = invocation.stdout.split(/\r?\n/);
    const settings = () => execFileSync("stty", ["-F", terminal, "-a"], { encoding: "utf8" });
    await until(() => settings().includes(" -icanon"));
    // The first key tells that it takes none, and no key is read any more.
    invocation.stdin.write("\x03");
    await until(() => settings().includes(" icanon"));
    invocation.stdin.write("\x03");
    assert.match((await invocation.end).stdout, /exit code 130\r\nrestored\r\n$/);
    assert.equal((await execs.get(id)).status, "RUNNING");
    await execs.delete(id);
  });
});

describe("sandpipe attach, to a command without a terminal", () => {
  it("passes lines on, shows stdout and stderr apart, and ends with its exit code", async () => {
    const id = await create("while read line; do echo got $line; echo $line >&2; done; exit 7");
    const invocation = await sandpipe.start(["attach", id], { env });
    await invocation.says("ready\n");
    invocation.stdin.write("one\n");
    await invocation.says("got one\n");
    invocation.stdin.end("two\n");
    assert.deepEqual(await invocation.end, {
      ...{ exitCode: 7, signal: null },
      ...{ stdout: "ready\ngot one\ngot two\n", stderr: "one\ntwo\n" },
    });
  });

  it("is left by Ctrl+C, and the command goes on", async () => {
    const id = await create("while read line; do echo got $line; done");
    const invocation = await inTerminal(id);
    await invocation.says("ready");
    invocation.stdin.write("one\n");
    await invocation.says("got one");
    invocation.stdin.write("\x03");
    assert.match((await invocation.end).stdout, /exit code 130\r\nrestored\r\n$/);
    assert.equal((await execs.get(id)).status, "RUNNING");
    await execs.delete(id);
  });

  it("leaves its stdin alone when told to", async () => {
    const id = await create("read line; echo got $line; exit 7");
    const invocation = await sandpipe.start(["attach", "--no-stdin", id], { env });
    invocation.stdin.end("lost\n");
    await invocation.says("ready");
    await execs.sendStdin(id, { input: "kept\n" });
    const { exitCode, stdout } = await invocation.end;
    assert.deepEqual({ exitCode, stdout }, { exitCode: 7, stdout: "ready\ngot kept\n" });
  });
});
