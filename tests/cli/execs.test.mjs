// @ts-check
// `sandpipe ps`, `logs`, `kill` and `stop`: the commands of an agent that is there.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { after, describe, it } from "node:test";
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { until } from "../support/processes.mjs";
import { installWithAgent } from "./with-agent.mjs";

const { sandpipe, execs, env, run, remove } = await installWithAgent();

after(remove);

/** Creates an exec and waits until it has said so much. @param {string} script @param {string} [says] */
async function create(script, says) {
  const { id } = await execs.create({ command: "sh", args: ["-c", script] });
  if (says === undefined) await execs.wait(id);
  else await until(async () => (await execs.getOutput(id)).output.includes(says));
  return id;
}

/** Writes and does not end. */
const ENDLESS = "echo ready; while :; do echo more; sleep 0.01; done";

/** Does not end on SIGTERM. */
const STUBBORN = "trap 'echo refused' TERM; echo ready; while :; do sleep 0.05; done";

/** What ps says of an agent without walls. */
const OPEN = "sandpipe: the agent's policy is open: commands have the agent's rights.\n";

describe("sandpipe ps", () => {
  it("lists the commands, newest first, aligned, with nothing in them that a terminal acts upon", async () => {
    const older = await create("exit 3");
    const newer = await create("echo ready\n: '\x1b[2J\x9b\u202e\t'; sleep 1000", "ready");
    const { exitCode, stdout, stderr } = await run("ps");
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: OPEN });
    const [title = "", first = "", second = ""] = stdout.split("\n");
    assert.match(title, /^ID +STATUS +EXIT +AGE +PID +TTY +COMMAND$/);
    const start = title.indexOf("COMMAND");
    assert.match(first, new RegExp(`^${newer}  running +\\d+[sm] +\\d+ +sh -c`));
    assert.equal(first.slice(start), "sh -c echo ready\\n: '\\x1b[2J\\x9b\\u202e\\t'; sleep 1000");
    assert.match(second, new RegExp(`^${older}  exited +3 +\\d+[sm] +\\d+ +sh -c exit 3$`));
    assert.equal(second.indexOf("sh -c"), start);
    await execs.delete(newer);
  });

  it("lists them as JSON, field by field as the agent does", async () => {
    await create("echo x", "x");
    const { exitCode, stdout, stderr } = await run("ps", "--json");
    assert.deepEqual([exitCode, stderr], [0, ""]);
    assert.deepEqual(JSON.parse(stdout), await execs.list());
  });

  it("has short ids, colours and lines that fit in a terminal, and no colours with NO_COLOR", async () => {
    const id = await create(`exit 3 # ${"long ".repeat(100)}`);
    const lineIn = async (/** @type {NodeJS.ProcessEnv} */ more) => {
      const invocation = await sandpipe.startInTerminal(["ps"], { env: { ...env, ...more } });
      const lines = (await invocation.end).stdout.split("\r\n");
      return lines.find((line) => line.startsWith(id.slice(0, 12))) ?? "";
    };
    const coloured = await lineIn({ NO_COLOR: "" });
    assert.match(coloured, new RegExp(`^${id.slice(0, 12)}  exited\\x1b\\[31m +3 `));
    assert.equal(coloured.replaceAll(/\x1b\[\d+m/g, "").length, 100);
    const plain = await lineIn({ NO_COLOR: "1" });
    assert.doesNotMatch(plain, /\x1b/);
    assert.equal(plain.length, 100);
    assert.ok(plain.endsWith("…"));
  });

  it("has no colours and whole ids elsewhere", async () => {
    const id = await create("exit 3");
    const { stdout } = await run("ps");
    assert.doesNotMatch(stdout, /\x1b/);
    assert.ok(stdout.includes(`${id}  exited`));
  });
});

describe("sandpipe logs", () => {
  it("shows stdout and stderr apart, and ends with 0 whatever the command did", async () => {
    const id = await create("echo hello; echo oops >&2; printf 'é 😀'; exit 3");
    const end = { exitCode: 0, signal: null, stdout: "hello\né 😀", stderr: "oops\n" };
    assert.deepEqual(await run("logs", id), end);
    assert.deepEqual(await run("logs", "-f", id.slice(0, 12)), end);
  });

  it("gives output byte for byte, as run and attach do; from an agent without frames, as text", async () => {
    const binary = await readFile("/bin/ls");
    const text = binary.toString();
    const programs = ["run cat /bin/ls", "logs ID", "logs -f ID", "attach --no-stdin ID"];
    const plain = await startAgent({ args: ["--without", "frames"] });
    try {
      for (const [agent, expected] of /** @type {const} */ ([
        [{ url: env["SANDPIPE_URL"] ?? "", token: env["SANDPIPE_TOKEN"] ?? "" }, binary],
        [plain, text],
      ])) {
        const sandbox = await connect(agent);
        const { id } = await sandbox.execs.create({ command: "cat", args: ["/bin/ls"] });
        await sandbox.execs.wait(id);
        const hash = createHash("sha256").update(expected).digest("hex");
        for (const program of programs) {
          const script = `sandpipe ${program.replace("ID", id)} | sha256sum`;
          const options = { env: { SANDPIPE_URL: agent.url, SANDPIPE_TOKEN: agent.token } };
          const { stdout, stderr } = await (await sandpipe.startInShell(script, options)).end;
          assert.deepEqual({ stdout, stderr }, { stdout: `${hash}  -\n`, stderr: "" }, program);
        }
        await sandbox.execs.delete(id);
      }
    } finally {
      await plain.stop();
    }
  });

  it("shows what there is of a command that goes on, also when that is nothing", async () => {
    const silent = await create("sleep 1000 & echo >/dev/null; wait", "");
    assert.deepEqual(await run("logs", silent), {
      exitCode: 0,
      signal: null,
      stdout: "",
      stderr: "",
    });
    const endless = await create(ENDLESS, "more");
    const { exitCode, stdout } = await run("logs", endless);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^ready\n(more\n)+$/);
    await Promise.all([execs.delete(silent), execs.delete(endless)]);
  });

  it("shows the beginning of a character, where that is all there is", async () => {
    const { id } = await execs.create({
      command: "sh",
      args: ["-c", "printf '\\342'; exec sleep 1000"],
    });
    await until(async () => (await execs.getOutput(id, -1)).lastSequence > 0);
    const script = `sandpipe logs ${id} | od -An -tx1`;
    assert.equal((await (await sandpipe.startInShell(script, { env })).end).stdout, " e2\n");
    await execs.delete(id);
  });

  it("begins at a piece, whose number is in its JSON", async () => {
    const id = await create("echo one; read x; echo two; read x; echo three >&2; exit 3", "one");
    // What is written after another has been seen is another piece.
    await execs.sendStdin(id, { input: "\n" });
    await until(async () => (await execs.getOutput(id)).output.includes("two"));
    await execs.sendStdin(id, { input: "\n" });
    await execs.wait(id);
    const { stdout } = await run("logs", "--json", id);
    const pieces = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const whole = pieces.map(({ output }) => output).join("");
    assert.equal(whole, "one\ntwo\nthree\n");
    assert.equal(pieces.at(-1).exitCode, 3);
    const { sequence } = pieces.find(({ output }) => output.includes("two"));
    const later = await run("logs", "--since", String(sequence), id);
    assert.deepEqual([later.stdout, later.stderr], ["two\n", "three\n"]);
    const nothing = await run("logs", "--since", "1000", id);
    assert.deepEqual([nothing.exitCode, nothing.stdout], [0, ""]);
  });

  it("follows to the end", async () => {
    const id = await create("echo ready; read line; echo $line", "ready");
    const invocation = await sandpipe.start(["logs", "--follow", id], { env });
    await invocation.says("ready\n");
    await execs.sendStdin(id, { input: "typed\n" });
    const { exitCode, stdout } = await invocation.end;
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: "ready\ntyped\n" });
  });

  it("ends the watching, not the command, on Ctrl+C", async () => {
    const id = await create(ENDLESS, "ready");
    const invocation = await sandpipe.startInTerminal(["logs", "-f", id], { env });
    await invocation.says("more");
    invocation.stdin.write("\x03");
    assert.match((await invocation.end).stdout, /exit code 130\r\nrestored\r\n$/);
    assert.equal((await execs.get(id)).status, "RUNNING");
    await execs.delete(id);
  });

  it("ends silently with 141 when nobody reads it any more", async () => {
    const id = await create(ENDLESS, "ready");
    const script = `{ sandpipe logs -f ${id}; echo $? >&2; } | head -1`;
    const invocation = await sandpipe.startInShell(script, { env });
    const { stdout, stderr } = await invocation.end;
    assert.deepEqual({ stdout, stderr }, { stdout: "ready\n", stderr: "141\n" });
    assert.equal((await execs.get(id)).status, "RUNNING");
    await execs.delete(id);
  });
});

describe("sandpipe kill", () => {
  it("sends a signal, by any of its names, to several", async () => {
    const script = "trap 'exit 42' HUP; echo ready; while :; do sleep 0.05; done";
    for (const signal of ["HUP", "sighup", "1"]) {
      const ids = [await create(script, "ready"), await create(script, "ready")];
      const { exitCode, stdout, stderr } = await run("kill", "-s", signal, ...ids);
      assert.deepEqual({ exitCode, stdout, stderr }, { exitCode: 0, stdout: "", stderr: "" });
      for (const id of ids) assert.equal((await execs.wait(id)).exitCode, 42);
    }
  });

  it("takes a number only where it is the same signal on all systems, and has the agent know the names", async () => {
    const id = await create("echo ready; exec sleep 1000", "ready");
    const number = await run("kill", "-s", "10", id);
    assert.equal(number.exitCode, 2);
    assert.match(
      number.stderr,
      /^sandpipe: --signal must be .* the same signal on all systems \(1, 2, 3, 6, 9, 14, 15\), but is "10".*\n$/,
    );
    const wrong = await run("kill", "-s", "a b", id);
    assert.equal(wrong.exitCode, 2);
    const unknown = await run("kill", "-s", "winter", id);
    assert.equal(unknown.exitCode, 1);
    assert.match(unknown.stderr, /^sandpipe: [0-9a-f]+: .*"SIGWINTER".*\n$/);
    // Linux has it, other systems have not.
    assert.equal((await run("kill", "-s", "stkflt", id)).exitCode, 0);
    assert.equal((await execs.wait(id)).exitCode, 128 + 16);
  });

  it("dies of SIGINT on Ctrl+C where the agent does not answer", async () => {
    const silent = createServer();
    const connected = once(silent, "connection");
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (silent.address());
    const url = `http://127.0.0.1:${port}`;
    const invocation = await sandpipe.start(["kill", "--url", url, "x"]);
    const [connection] = await connected;
    invocation.child.kill("SIGINT");
    const { signal, stderr } = await invocation.end;
    connection.destroy();
    silent.close();
    assert.deepEqual({ signal, stderr }, { signal: "SIGINT", stderr: "" });
  });

  it("sends SIGTERM by default, and says which it could not be sent to", async () => {
    const ended = await create("exit 0");
    const runs = await create("echo ready; exec sleep 1000", "ready");
    const { exitCode, stderr } = await run("kill", ended, "no-such", runs);
    assert.equal(exitCode, 1);
    assert.equal((await execs.wait(runs)).exitCode, 143);
    const lines = stderr.trimEnd().split("\n").sort();
    assert.equal(lines.length, 2);
    assert.ok(lines.some((line) => line.startsWith(`sandpipe: ${ended}: `) && /ended/.test(line)));
    assert.ok(lines.some((line) => line.startsWith("sandpipe: no exec has the id")));
  });
});

describe("sandpipe stop", () => {
  it("stops several, gracefully and then by force, and waits for it", async () => {
    const tidy = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    for (const [script, grace, code] of /** @type {const} */ ([
      [tidy, "1000", 7],
      [STUBBORN, "0.5", 137],
    ])) {
      const ids = [await create(script, "ready"), await create(script, "ready")];
      const { exitCode, stdout, stderr } = await run("stop", "--grace", grace, ...ids);
      assert.deepEqual({ exitCode, stdout, stderr }, { exitCode: 0, stdout: "", stderr: "" });
      for (const id of ids) assert.equal((await execs.get(id)).exitCode, code);
    }
  });

  it("stops the others where one can't be stopped, and says which", async () => {
    const id = await create("echo ready; exec sleep 1000", "ready");
    const { exitCode, stderr } = await run("stop", "no-such", id);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^sandpipe: no exec has the id "no-such".*sandpipe ps.*\n$/);
    assert.equal((await execs.get(id)).exitCode, 143);
  });

  it("tells on a terminal that it waits, and kills on the second Ctrl+C", async () => {
    const id = await create(STUBBORN, "ready");
    const args = ["stop", "--grace", "1000", id];
    const invocation = await sandpipe.startInTerminal(args, { env });
    await invocation.says(/\rstopping [0-9a-f]{32}: \d+ s\x1b\[K/);
    invocation.stdin.write("\x03");
    await invocation.says(/\r\x1b\[K\r\nsandpipe: stopping; .* again to kill now/);
    assert.equal((await execs.get(id)).exitCode, -1);
    invocation.stdin.write("\x03");
    assert.match((await invocation.end).stdout, /exit code 130\r\nrestored\r\n$/);
    assert.equal((await execs.get(id)).exitCode, 137);
  });

  it("dies of Ctrl+C also where nobody reads any more what became of the command", async () => {
    const id = await create(STUBBORN, "ready");
    const invocation = await sandpipe.start(["stop", "--grace", "1000", id], { env });
    await until(async () => (await execs.getOutput(id)).output.includes("refused"));
    invocation.child.kill("SIGINT");
    await until(() => invocation.stderr.includes("again to kill now"));
    invocation.child.stderr.destroy();
    invocation.child.kill("SIGINT");
    const { exitCode, signal } = await invocation.end;
    assert.deepEqual({ exitCode, signal }, { exitCode: null, signal: "SIGINT" });
    assert.equal((await execs.get(id)).exitCode, 137);
  });

  it("tells nothing of waiting where there is no terminal", async () => {
    const id = await create(STUBBORN, "ready");
    const { exitCode, stderr } = await run("stop", "--grace", "3", id);
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
  });
});

describe("what a terminal acts upon", () => {
  const ACTIVE = "\x1b]0;title\x07\x1b[2J\x7f\x9b2J\u202e\u2028\t";

  it("does nothing in an error, which is one line", async () => {
    for (const id of [`no-such${ACTIVE}`, `no-such\r\n${ACTIVE}`]) {
      const { exitCode, stderr } = await run("logs", id);
      assert.equal(exitCode, 125);
      assert.match(stderr, /^sandpipe: no exec has the id "no-such[\x20-\x7e]*2J[\x20-\x7e]*\n$/);
    }
    const { stderr } = await run("kill", `no-such${ACTIVE}`);
    assert.match(stderr, /^sandpipe: [\x20-\x7e]*\n$/);
  });

  it("does nothing in JSON, and is all there", async () => {
    const id = await create(`printf '%s' '${ACTIVE}'`);
    const listed = await run("ps", "--json");
    assert.doesNotMatch(listed.stdout, /[^\P{Cc}\n]|[\u2028-\u202e]/u);
    assert.deepEqual(JSON.parse(listed.stdout), await execs.list());
    const { stdout } = await run("logs", "--json", id);
    assert.match(stdout, /^[\n\x20-\x7e]*$/);
    const pieces = stdout.trimEnd().split("\n");
    assert.equal(pieces.map((line) => JSON.parse(line).output).join(""), ACTIVE);
  });
});

describe("an id", () => {
  it("may be its beginning, if that is no other's", async () => {
    // One more than there are digits: two begin alike.
    const ids = await Promise.all(Array.from({ length: 17 }, () => create("echo $0")));
    const [prefix = ""] = ids
      .map(([digit = ""]) => digit)
      .filter((digit, at, all) => all.indexOf(digit) !== at);
    const { exitCode, stderr } = await run("logs", prefix);
    assert.equal(exitCode, 125);
    assert.match(stderr, new RegExp(`^sandpipe: "${prefix}" is ambiguous: .*Write more\\.\\n$`));
    const [id = ""] = ids;
    assert.equal((await run("logs", id.slice(0, 16))).stdout, "sh\n");
  });

  for (const command of [
    ["ps"],
    ...["logs", "kill", "stop", "attach", "rm"].map((name) => [name, "x"]),
    ["rm", "--ended"],
  ]) {
    it(`is asked for at an agent that is named: ${command.join(" ")} ends with 2 where none is`, async () => {
      const { exitCode, stdout, stderr } = await sandpipe.run(command);
      assert.deepEqual({ exitCode, stdout }, { exitCode: 2, stdout: "" });
      assert.match(stderr, /^sandpipe: no agent is named: .*sandpipe agent.*--url.*\n$/);
    });
  }
});
