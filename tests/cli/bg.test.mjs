// @ts-check
// `sandpipe bg`: processes that outlive the program.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { background } from "sandpipe";
import { localRuntime } from "sandpipe/node";
import { startTestAgent } from "../agent.mjs";
import { installSandpipe, until } from "./command-line.mjs";

/** @type {Awaited<ReturnType<typeof installSandpipe>>} */
let sandpipe;
/** Where the processes have their files. @type {NodeJS.ProcessEnv} */
let env;
/** The same ones, as the package has them. @type {import("sandpipe").Background} */
let processes;

before(async () => {
  sandpipe = await installSandpipe();
  env = { TMPDIR: await mkdtemp(join(sandpipe.path, "background-")) };
  const baseDir = `${env["TMPDIR"]}/sandpipe-${process.getuid?.()}`;
  processes = background(localRuntime(), { baseDir });
});
after(async () => {
  for (const { id } of await processes.list()) await processes.terminate(id, { graceMs: 0 });
  await sandpipe.remove();
});

/** Runs `sandpipe bg`. What it starts stays. @param {string[]} args */
async function bg(...args) {
  const invocation = await sandpipe.start(["bg", ...args], { env });
  invocation.stdin.end();
  return invocation.end;
}

/** Starts a script and gives its id. @param {string} script @param {string[]} options */
async function start(script, ...options) {
  const { exitCode, stdout, stderr } = await bg("start", ...options, "-c", script);
  assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
  assert.match(stdout, /^[0-9a-f]+\n$/);
  return stdout.trim();
}

/** Waits until a process has said so much. @param {string} id @param {string} what */
const says = (id, what) =>
  until(async () => (await processes.readOutput(id)).output.includes(what));

const STUBBORN = "trap 'echo refused' TERM; echo ready; while :; do sleep 0.05; done";

describe("sandpipe bg start", () => {
  it("starts a command with its arguments byte for byte, and prints its id", async () => {
    const args = ["", " ", "'\"`$HOME\\", "line\nbreak", "-c", "--", "é 😀", "*", "~", "A=1"];
    const print = ["sh", "-c", 'for argument; do printf "%s|" "$argument"; done', "sh"];
    const { exitCode, stdout } = await bg("start", ...print, ...args);
    assert.equal(exitCode, 0);
    const id = stdout.trim();
    await processes.wait(id);
    assert.equal((await processes.readOutput(id)).output, `${args.join("|")}|`);
    // A word that a shell would take for a setting is a command's name all the same.
    const named = (await bg("start", "A=1")).stdout.trim();
    assert.equal((await processes.wait(named)).exitCode, 127);
  });

  it("starts a script with a name, a directory, variables and a timeout", async () => {
    const options = ["--name", "my name", "--cwd", "/usr", "--env", "A=1 2", "--timeout", "0.5"];
    const id = await start('pwd; echo "$A"; sleep 1000', ...options);
    const { name, exitCode } = await processes.wait(id);
    assert.deepEqual({ name, exitCode }, { name: "my name", exitCode: 124 });
    assert.equal((await processes.readOutput(id)).output, "/usr\n1 2\n");
  });

  it("prints the whole process as JSON", async () => {
    const { stdout } = await bg("start", "--json", "--", "true");
    const started = JSON.parse(stdout);
    const { id, pid, script, outputDir } = await processes.get(started.id);
    assert.deepEqual(
      [started.id, started.pid, started.script, started.outputDir],
      [id, pid, script, outputDir],
    );
  });

  for (const [name, args] of /** @type {[string, string[]][]} */ ([
    ["nothing to start", []],
    ["a command and a script", ["-c", "true", "true"]],
    ["two machines", ["--local", "--ssh", "host", "true"]],
    ["two machines, one an agent's", ["--local", "--url", "http://127.0.0.1:9", "true"]],
    ["a token that is for none", ["--local", "--token-file", "x", "true"]],
    ["a variable without a value", ["--env", "A", "true"]],
  ])) {
    it(`ends with 2 and one line for ${name}`, async () => {
      const { exitCode, stdout, stderr } = await bg("start", ...args);
      assert.deepEqual({ exitCode, stdout }, { exitCode: 2, stdout: "" });
      assert.match(stderr, /^sandpipe: .*See `sandpipe bg start --help`\.\n$/);
    });
  }
});

describe("sandpipe bg ls", () => {
  it("lists them in a table and as JSON", async () => {
    const older = await start("exit 3", "--name", "older");
    await processes.wait(older);
    const newer = await start("sleep 1000\n# more");
    const { exitCode, stdout } = await bg("ls");
    assert.equal(exitCode, 0);
    const [title = "", ...lines] = stdout.split("\n");
    const lineOf = (/** @type {string} */ id) => lines.find((line) => line.startsWith(id)) ?? "";
    assert.match(title, /^ID +STATUS +EXIT +AGE +NAME +SCRIPT$/);
    assert.match(lineOf(newer), new RegExp(`^${newer}  running +\\d+s +sleep 1000\\\\n# more$`));
    assert.match(lineOf(older), new RegExp(`^${older}  exited +3 +\\d+[sm] +older +exit 3$`));
    assert.deepEqual(JSON.parse((await bg("ls", "--json")).stdout), await processes.list());
    await processes.terminate(newer);
  });
});

describe("sandpipe bg logs", () => {
  it("shows what there is, of both streams, one of them, the end or some lines", async () => {
    const id = await start("echo one; echo two; echo three >&2; exit 3");
    await processes.wait(id);
    const shown = async (/** @type {string[]} */ ...options) => {
      const { exitCode, stdout, stderr } = await bg("logs", ...options, id.slice(0, 8));
      assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
      return stdout;
    };
    assert.equal(await shown(), "one\ntwo\nthree\n");
    assert.equal(await shown("--stream", "stdout"), "one\ntwo\n");
    assert.equal(await shown("--stream", "stderr"), "three\n");
    assert.equal(await shown("--grep", "^t"), "two\nthree\n");
    assert.equal(await shown("--tail", "9"), "o\nthree\n".padStart(9, "w"));
    assert.equal(await shown("-f", "--tail", "6"), "three\n");
  });

  it("shows all of much, and ends although the process goes on writing", async () => {
    const id = await start(
      "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo ready; while :; do echo more; done",
    );
    await until(async () => {
      const { output } = await processes.readOutput(id, { offset: 5_000_000 });
      return output.includes("ready");
    });
    const { exitCode, stdout } = await bg("logs", id);
    await processes.terminate(id, { graceMs: 0 });
    assert.equal(exitCode, 0);
    assert.match(stdout, /^x{5000000}\nready\n(more\n)*/);
  });

  it("follows to the end", async () => {
    const file = join(sandpipe.path, "go-on");
    const id = await start(
      `echo ready; until [ -e ${file} ]; do sleep 0.05; done; echo done; exit 3`,
    );
    const invocation = await sandpipe.start(["bg", "logs", "-f", id], { env });
    await invocation.says("ready\n");
    await writeFile(file, "");
    const { exitCode, stdout } = await invocation.end;
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: "ready\ndone\n" });
    await rm(file);
  });

  it("ends the watching, not the process, on Ctrl+C, and leaves nothing of itself", async () => {
    const id = await start("echo ready; sleep 1000");
    const invocation = await sandpipe.startInTerminal(["bg", "logs", "-f", id], { env });
    await invocation.says("ready");
    invocation.stdin.write("\x03");
    assert.match((await invocation.end).stdout, /exit code 130\r\nrestored\r\n$/);
    await invocation.leavesNothing();
    assert.equal((await processes.get(id)).status, "running");
    await processes.terminate(id);
  });

  it("ends silently with 141 when nobody reads it any more", async () => {
    const id = await start("echo ready; while :; do echo more; sleep 0.01; done");
    const script = `{ sandpipe bg logs -f ${id}; echo $? >&2; } | head -1`;
    const { stdout, stderr } = await (await sandpipe.startInShell(script, { env })).end;
    assert.deepEqual({ stdout, stderr }, { stdout: "ready\n", stderr: "141\n" });
    await processes.terminate(id);
  });

  it("ends with one line of explanation for what is wrong", async () => {
    const id = await start("true");
    for (const [options, code, says] of /** @type {[string[], number, RegExp][]} */ ([
      [["--grep", "(", id], 125, /regular expression/],
      [["--stream", "all", id], 2, /stdout, stderr or both, but is "all"/],
      [["no-such"], 125, /no process has the id "no-such".*sandpipe bg ls/],
    ])) {
      const { exitCode, stdout, stderr } = await bg("logs", ...options);
      assert.deepEqual({ exitCode, stdout }, { exitCode: code, stdout: "" });
      assert.match(stderr, /^sandpipe: .*\n$/);
      assert.match(stderr, says);
    }
  });
});

describe("sandpipe bg wait", () => {
  it("ends with the process's exit code", async () => {
    assert.equal((await bg("wait", await start("exit 42"))).exitCode, 42);
    assert.equal((await bg("wait", await start("kill -KILL $$"))).exitCode, 137);
  });

  it("ends with 124 when its timeout has passed, and the process goes on", async () => {
    const id = await start("sleep 1000");
    const { exitCode, stderr } = await bg("wait", "--timeout", "0.2", id);
    assert.deepEqual(
      { exitCode, stderr },
      { exitCode: 124, stderr: `sandpipe: process ${id} still runs.\n` },
    );
    assert.equal((await processes.get(id)).status, "running");
    await processes.terminate(id);
  });

  it("tells on a terminal that it waits; Ctrl+C ends that, and leaves nothing of it", async () => {
    const id = await start("sleep 1000");
    const invocation = await sandpipe.startInTerminal(["bg", "wait", id], { env });
    await invocation.says(/\rwaiting for [0-9a-f]+: 2 s\x1b\[K/);
    invocation.stdin.write("\x03");
    assert.match((await invocation.end).stdout, /\r\x1b\[Kexit code 130\r\nrestored\r\n$/);
    await invocation.leavesNothing();
    assert.equal((await processes.get(id)).status, "running");
    await processes.terminate(id);
  });

  it("ends with 125 where nobody knows how the process ended", async () => {
    const id = await start("echo ready; sleep 1000");
    await says(id, "ready");
    const { pid } = await processes.get(id);
    process.kill(pid, "SIGKILL");
    const { exitCode, stderr } = await bg("wait", id);
    assert.equal(exitCode, 125);
    assert.match(stderr, /^sandpipe: process .* is gone, and how it ended is not known\.\n$/);
    await processes.terminate(id);
  });
});

describe("sandpipe bg stop, rm", () => {
  it("stops several, with all that they started, and removes them", async () => {
    const ids = [await start("sleep 1000 & wait"), await start(STUBBORN)];
    await says(ids[1] ?? "", "ready");
    const running = await bg("rm", ...ids);
    assert.equal(running.exitCode, 1);
    assert.match(running.stderr, /^(sandpipe: [0-9a-f]+: .* is running.*\n){2}$/);
    const { exitCode, stderr } = await bg("stop", "--grace", "0.5", ...ids);
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
    const codes = await Promise.all(ids.map(async (id) => (await processes.get(id)).exitCode));
    assert.deepEqual(codes, [143, 137]);
    assert.equal((await bg("rm", ...ids)).exitCode, 0);
    const left = (await processes.list()).map(({ id }) => id);
    assert.ok(ids.every((id) => !left.includes(id)));
  });

  it("kills on the second Ctrl+C", async () => {
    const id = await start(STUBBORN);
    await says(id, "ready");
    const args = ["bg", "stop", "--grace", "1000", id];
    const invocation = await sandpipe.startInTerminal(args, { env });
    await says(id, "refused");
    invocation.stdin.write("\x03");
    await invocation.says("still stopping");
    assert.equal((await processes.get(id)).status, "running");
    invocation.stdin.write("\x03");
    assert.match((await invocation.end).stdout, /exit code 130\r\nrestored\r\n$/);
    await invocation.leavesNothing();
    assert.equal((await processes.get(id)).exitCode, 137);
  });
});

describe("sandpipe bg, on another machine", () => {
  it("is at the agent that is named, unless --local says otherwise", async () => {
    const agent = await startTestAgent();
    try {
      const named = { env: { ...env, SANDPIPE_URL: agent.url, SANDPIPE_TOKEN: agent.token } };
      const show = ["bg", "start", "--", "sh", "-c", "tr '\\0' '\\n' < /proc/$PPID/environ"];
      for (const [options, isThere] of /** @type {const} */ ([
        [[], true],
        [["--local"], false],
      ])) {
        const args = [...show.slice(0, 2), ...options, ...show.slice(2)];
        const started = await sandpipe.start(args, named);
        const id = (await started.end).stdout.trim();
        const where = ["bg", "ls", "--json", ...options];
        const listed = await (await sandpipe.start(where, named)).end;
        const found = JSON.parse(listed.stdout).find(
          (/** @type {{ id: string }} */ one) => one.id === id,
        );
        assert.ok(found !== undefined);
        const isHere = (await processes.list()).some((one) => one.id === id);
        assert.equal(isHere, !isThere);
        await (
          await sandpipe.start(["bg", "rm", ...options, id], named)
        ).end;
      }
    } finally {
      await agent.stop();
    }
  });

  it("says in one line what ssh says", async () => {
    const { exitCode, stderr } = await bg("ls", "--ssh", "nobody@127.0.0.1:1");
    assert.equal(exitCode, 125);
    assert.match(stderr, /^sandpipe: .*127\.0\.0\.1.*\n$/);
  });
});
