// @ts-check
// `sandpipe run`: what a command is given, and what comes of it.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { after, before, describe, it } from "node:test";
import { startTestAgent } from "../support/agent.mjs";
import { installSandpipe } from "../support/installed-cli.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

/** @param {string} script */
const sh = (script) => ["sh", "-c", script];

describe("sandpipe run", () => {
  it("ends with the command's exit code", async () => {
    for (const code of [0, 1, 2, 42, 125, 255]) {
      const { exitCode, stderr } = await sandpipe.run(["run", "--", ...sh(`exit ${code}`)]);
      assert.deepEqual({ exitCode, stderr }, { exitCode: code, stderr: "" });
    }
  });

  it("ends with 128 + N after death by signal N, 127 and 126 where nothing could be run", async () => {
    const exitCode = async (/** @type {string[]} */ command) =>
      (await sandpipe.run(["run", "--", ...command])).exitCode;
    assert.equal(await exitCode(sh("kill -KILL $$")), 137);
    assert.equal(await exitCode(sh("kill -TERM $$")), 143);
    assert.equal(await exitCode(["no-such-command"]), 127);
    assert.equal(await exitCode(["/"]), 126);
  });

  it("says how a shell is run where a line for one was given as a program's name", async () => {
    const { exitCode, stderr } = await sandpipe.run(["run", "echo 'hi'"]);
    assert.equal(exitCode, 127);
    assert.ok(
      stderr.endsWith(
        " if it is a line for a shell, run `sandpipe run -- sh -c 'echo '\\''hi'\\'''`.\n",
      ),
      stderr,
    );
    const given = await sandpipe.run(["run", "--policy", "open", "-e", "A=1 2", "--", "x y"]);
    assert.match(given.stderr, /`sandpipe run --policy open -e 'A=1 2' -- sh -c 'x y'`\.\n$/);
    // A shell that says 127 was one.
    const shell = await sandpipe.run(["run", "--", ...sh("no-such-command x")]);
    assert.doesNotMatch(shell.stderr, /sandpipe run/);
  });

  it("keeps stdout and stderr apart", async () => {
    const script = "echo hello; echo oops >&2; printf 'no newline, é 😀'; exit 3";
    assert.deepEqual(await sandpipe.run(["run", "--", ...sh(script)]), {
      exitCode: 3,
      signal: null,
      stdout: "hello\nno newline, é 😀",
      stderr: "oops\n",
    });
  });

  it("hands over arguments byte for byte, also those that look like its own", async () => {
    const args = [
      "",
      " ",
      "'\"`$HOME\\",
      "line\nbreak\r\n",
      "-i",
      "--",
      "--help",
      "--url",
      "é 😀",
      "*",
    ];
    const print = ["sh", "-c", 'for argument; do printf "%s\\0" "$argument"; done', "sh"];
    for (const options of [[], ["--"]]) {
      const { stdout } = await sandpipe.run(["run", ...options, ...print, ...args]);
      assert.deepEqual(stdout.split("\0").slice(0, -1), args);
    }
  });

  it("adds variables to the environment, and keeps its agent's secrets", async () => {
    const variables = ["A=1", "EMPTY=", "LINES=a\nb=c", "odd.name=é"];
    const options = variables.flatMap((variable) => ["--env", variable]);
    // A name alone passes on what the policy does not.
    options.push("-e", "SERVICE_TOKEN", "--policy", "workspace");
    const env = { FROM_HERE: "yes", SERVICE_TOKEN: "a=b" };
    const { stdout } = await sandpipe.run(["run", ...options, "--", "env", "-0"], { env });
    const seen = stdout.split("\0");
    for (const variable of [...variables, "FROM_HERE=yes", "SERVICE_TOKEN=a=b"])
      assert.ok(seen.includes(variable));
    // An ordinary user's command, which has no cgroup of its own, has a mark.
    assert.doesNotMatch(stdout, /SANDPIPE(?!_EXEC=|_NAMESPACE=)/);
  });

  it("runs in the current directory, or in the one that it is told", async () => {
    const pwd = async (/** @type {string[]} */ ...options) =>
      (await sandpipe.run(["run", ...options, "pwd"])).stdout;
    assert.equal(await pwd(), `${sandpipe.path}\n`);
    assert.equal(await pwd("--cwd", "/usr"), "/usr\n");
    assert.equal(await pwd("-w", "/usr"), "/usr\n");
    assert.equal(
      await pwd("--cwd=node_modules"),
      `${await realpath(sandpipe.path)}/node_modules\n`,
    );
  });

  it(
    "runs as the user that it is told",
    { skip: process.getuid?.() !== 0 && "only for root" },
    async () => {
      const { stdout } = await sandpipe.run(["run", "--user", "nobody", "--cwd", "/", "id", "-un"]);
      assert.equal(stdout, "nobody\n");
    },
  );

  it("leaves no job behind that a command left", async () => {
    const { exitCode, stdout } = await sandpipe.run(["run", "--", ...sh("sleep 1000 & echo done")]);
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: "done\n" });
  });

  it("passes all output on, in bounded memory, however slow it is taken", async () => {
    const size = 200_000_000;
    const script = `head -c ${size} /dev/zero | tr '\\0' x`;
    const invocation = await sandpipe.start(["run", "--", ...sh(script)]);
    const { child } = invocation;
    await invocation.says("x");
    child.stdout.pause();
    // The command ends, whether its output is taken or not.
    await invocation.ends("tr");
    const taken = createHash("sha256");
    let length = 0;
    /** @type {number | undefined} */
    let peak;
    child.stdout.removeAllListeners("data");
    taken.update(invocation.stdout);
    length += invocation.stdout.length;
    for await (const text of child.stdout) {
      taken.update(text);
      length += text.length;
      if (length > size * 0.9) peak ??= await peakOfMemory(child.pid);
    }
    assert.equal(length, size);
    assert.equal(taken.digest("hex"), createHash("sha256").update("x".repeat(size)).digest("hex"));
    assert.ok(peak !== undefined && peak < size, `${peak} bytes`);
    assert.equal((await invocation.end).exitCode, 0);
    await invocation.leavesNothing();
  });
});

describe("sandpipe run, stdin", () => {
  it("is empty by default, although its own stays open", async () => {
    const invocation = await sandpipe.start(["run", "cat"]);
    invocation.stdin.write("for nobody\n");
    assert.deepEqual(await invocation.end, { exitCode: 0, signal: null, stdout: "", stderr: "" });
  });

  it("is passed on with -i, byte for byte, up to its end", async () => {
    const text = `\uFEFF${"é😀\r\n\0 plain ".repeat(70_000)}`;
    const bytes = Buffer.from(text);
    assert.ok(bytes.length > 1_000_000);
    const invocation = await sandpipe.start([
      "run",
      "-i",
      "--",
      ...sh("tee /dev/stderr | sha256sum"),
    ]);
    // Cut anywhere, also within characters.
    const pieces = Array.from({ length: Math.ceil(bytes.length / 40_007) }, (_, i) =>
      bytes.subarray(i * 40_007, (i + 1) * 40_007),
    );
    await pipeline(Readable.from(pieces), invocation.stdin);
    const { exitCode, stdout, stderr } = await invocation.end;
    assert.equal(exitCode, 0);
    assert.equal(stdout.split(" ")[0], createHash("sha256").update(bytes).digest("hex"));
    assert.ok(stderr === text, "what comes back is what was sent");
    await invocation.leavesNothing();
  });

  it("is passed on as it comes", async () => {
    const invocation = await sandpipe.start(["run", "-i", "cat"]);
    for (const word of ["one", "two", "three"]) {
      invocation.stdin.write(word);
      await invocation.says(word);
    }
    invocation.stdin.end();
    assert.equal((await invocation.end).stdout, "onetwothree");
  });

  it("is left alone when the command has read enough", async () => {
    const invocation = await sandpipe.start(["run", "-i", "head", "-n", "1"]);
    const endless = Readable.from(
      (function* () {
        for (;;) yield "line\n".repeat(10_000);
      })(),
    );
    endless.pipe(invocation.stdin);
    const { exitCode, stdout, stderr } = await invocation.end;
    endless.destroy();
    assert.deepEqual({ exitCode, stdout, stderr }, { exitCode: 0, stdout: "line\n", stderr: "" });
    await invocation.leavesNothing();
  });

  it("is left alone when the command has closed it and goes on", async () => {
    // Long enough for an error to end it first, if there were one.
    const script = "read line; exec <&-; echo $line; sleep 1; exit 3";
    const invocation = await sandpipe.start(["run", "-i", "--", ...sh(script)]);
    invocation.stdin.write("one\n");
    await invocation.says("one");
    invocation.stdin.write("more\n");
    const { exitCode, stderr } = await invocation.end;
    assert.deepEqual({ exitCode, stderr }, { exitCode: 3, stderr: "" });
    await invocation.leavesNothing();
  });

  it("reaches the command byte for byte", async () => {
    const bytes = await readFile(process.execPath);
    const invocation = await sandpipe.start(["run", "-i", "sha256sum"]);
    await pipeline(Readable.from([bytes.subarray(0, 1), bytes.subarray(1)]), invocation.stdin);
    const { exitCode, stdout } = await invocation.end;
    const hash = createHash("sha256").update(bytes).digest("hex");
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: `${hash}  -\n` });
    await invocation.leavesNothing();
  });

  it("is an error before anything is run where it can't be read", async () => {
    const ran = join(sandpipe.path, "ran");
    const script = `sandpipe run -i -- sh -c 'cat; echo > "$1"' sh '${ran}' < /`;
    const { exitCode, stdout, stderr } = await (await sandpipe.startInShell(script)).end;
    assert.deepEqual([exitCode, stdout], [125, ""]);
    assert.match(stderr, /^sandpipe: stdin can't be passed on: it is a directory \(EISDIR\)/);
    await assert.rejects(readFile(ran), { code: "ENOENT" });
  });
});

describe("sandpipe run, at another agent", () => {
  /** @type {Awaited<ReturnType<typeof startTestAgent>>} */
  let agent;
  // So that none is started here.
  const none = { SANDPIPE_AGENT: "/no/such/agent" };

  before(async () => {
    agent = await startTestAgent();
    await writeFile(join(sandpipe.path, "token"), `${agent.token}\n`);
  });
  after(() => agent.stop());

  it("finds it by its options", async () => {
    const target = ["--url", agent.url, "--token-file", "token"];
    const { exitCode, stdout } = await sandpipe.run(
      ["run", ...target, ...sh("echo there; exit 4")],
      {
        env: none,
      },
    );
    assert.deepEqual({ exitCode, stdout }, { exitCode: 4, stdout: "there\n" });
  });

  it("finds it by the environment", async () => {
    const env = { ...none, SANDPIPE_URL: agent.url, SANDPIPE_TOKEN: agent.token };
    const { exitCode, stdout } = await sandpipe.run(["run", "echo", "there"], { env });
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: "there\n" });
  });

  it("stops the command there when it is told to stop", async () => {
    const env = { ...none, SANDPIPE_URL: agent.url, SANDPIPE_TOKEN: agent.token };
    const invocation = await sandpipe.start(
      ["run", "--env", "THERE=yes", "--", ...sh("echo $$; sleep 1000")],
      { env },
    );
    await invocation.says("\n");
    const pid = Number(invocation.stdout);
    process.kill(pid, 0);
    invocation.child.kill("SIGINT");
    assert.equal((await invocation.end).signal, "SIGINT");
    assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  });

  it("ends with 125 and the reason when it is refused", async () => {
    const env = { SANDPIPE_URL: agent.url, SANDPIPE_TOKEN: "wrong" };
    const { exitCode, stdout, stderr } = await sandpipe.run(["run", "true"], { env });
    assert.deepEqual({ exitCode, stdout }, { exitCode: 125, stdout: "" });
    assert.match(stderr, /^sandpipe: .*401.*\n$/);
  });
});

/** The most memory that a process has had, in bytes. @param {number | undefined} pid */
async function peakOfMemory(pid) {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
