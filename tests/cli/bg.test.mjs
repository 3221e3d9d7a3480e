// @ts-check
// `sandpipe bg start`, `ls`, `stop` and `rm`: processes that outlive the program.
import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { startTestAgent } from "../support/agent.mjs";
import { startSshd } from "../support/sshd.mjs";
import { installWithProcesses } from "./background-processes.mjs";

const { sandpipe, env, processes, bg, start, says, remove } = await installWithProcesses();
after(remove);

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

  it("says how a shell is run where a line for one was given as a program's name", async () => {
    const before = await processes.list();
    const { exitCode, stdout, stderr } = await bg("start", "sleep 3; echo hi");
    assert.deepEqual([exitCode, stdout], [127, ""]);
    assert.match(stderr, /`sandpipe bg start -- sh -c 'sleep 3; echo hi'`\.\n$/);
    const named = await bg("start", "--name", "a name", "sleep 3; echo hi");
    assert.match(named.stderr, /`sandpipe bg start --name 'a name' -- sh -c 'sleep 3; echo hi'`/);
    assert.deepEqual(await processes.list(), before);
    // A program may have such a name, also where the process alone finds it.
    const bin = join(sandpipe.path, "a directory");
    await mkdir(bin);
    await writeFile(join(bin, "my program"), "#!/bin/sh\nexit 3\n", { mode: 0o755 });
    for (const args of [
      [join(bin, "my program")],
      ["--cwd", bin, "./my program"],
      ["--env", `PATH=${bin}:${process.env["PATH"]}`, "my program"],
    ]) {
      const started = await bg("start", ...args);
      assert.equal(started.exitCode, 0, started.stderr);
      assert.equal((await processes.wait(started.stdout.trim())).exitCode, 3);
    }
  });

  it("starts a script with a name, a directory, variables and a timeout", async () => {
    // In place of the system's: the 8 s are over when there is a file.
    const bin = join(sandpipe.path, "sleep");
    const over = join(sandpipe.path, "over");
    await mkdir(bin);
    const sleep = `#!/bin/sh
      case $1 in 8 | 8.0*) while [ ! -e '${over}' ]; do /bin/sleep 0.05; done; exit ;; esac
      exec /bin/sleep "$@"\n`;
    await writeFile(join(bin, "sleep"), sleep, { mode: 0o755 });
    const options = ["--name", "my name", "--cwd", "/usr", "--env", "A=1 2", "--timeout", "8"];
    const args = ["bg", "start", ...options, "-c", 'pwd; echo "$A"; sleep 1000'];
    const own = { env: { ...env, PATH: `${bin}:${process.env["PATH"]}` } };
    const id = (await (await sandpipe.start(args, own)).end).stdout.trim();
    await says(id, "1 2\n");
    await writeFile(over, "");
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
    const ids = (await processes.list()).map((process) => `${process.id}\n`).join("");
    assert.equal((await bg("ls", "-q")).stdout, ids);
    const [title = "", ...lines] = stdout.split("\n");
    const lineOf = (/** @type {string} */ id) => lines.find((line) => line.startsWith(id)) ?? "";
    assert.match(title, /^ID +STATUS +EXIT +AGE +NAME +SCRIPT$/);
    assert.match(lineOf(newer), new RegExp(`^${newer}  running +\\d+s +sleep 1000\\\\n# more$`));
    assert.match(lineOf(older), new RegExp(`^${older}  exited +3 +\\d+[sm] +older +exit 3$`));
    assert.deepEqual(JSON.parse((await bg("ls", "--json")).stdout), await processes.list());
    await processes.terminate(newer);
  });
});

describe("sandpipe bg --namespace", () => {
  it("keeps processes apart, which --all lists", async () => {
    const here = await start("true");
    const there = await start("exit 3", "--namespace", "there");
    assert.equal((await bg("wait", "--namespace", "there", there)).exitCode, 3);
    assert.equal((await bg("ls", "-q", "--namespace", "there")).stdout, `${there}\n`);
    assert.ok(!(await bg("ls", "-q")).stdout.includes(there));
    assert.match((await bg("logs", there)).stderr, /no process has the id/);
    const { stdout } = await bg("ls", "--all");
    assert.match(stdout, /^ID +NAMESPACE +STATUS/);
    assert.match(stdout, new RegExp(`^${here} +default +`, "m"));
    assert.match(stdout, new RegExp(`^${there} +there +exited +3 `, "m"));
    const [newest] = JSON.parse((await bg("ls", "--all", "--json")).stdout);
    assert.deepEqual([newest.id, newest.namespace], [there, "there"]);
    assert.equal((await bg("rm", "--namespace", "there", there)).exitCode, 0);
    assert.doesNotMatch((await bg("ls", "--all")).stdout, /there/);
    for (const args of [
      ["ls", "--namespace", "../x"],
      ["ls", "--namespace", ""],
      ["ls", "--all", "--namespace", "x"],
      ["ls", "--limit", "none"],
    ]) {
      const { exitCode, stderr } = await bg(...args);
      assert.equal(exitCode, 2, args.join(" "));
      assert.match(stderr, /--(namespace|limit)/);
    }
  });

  it("lists the newest so many, and what runs", async () => {
    const limited = /** @type {const} */ (["--namespace", "limited"]);
    const running = await start("sleep 1000", ...limited);
    const ended = [];
    for (const script of ["exit 1", "exit 2"]) ended.push(await start(script, ...limited));
    for (const id of ended) await bg("wait", ...limited, id);
    const { stdout, stderr } = await bg("ls", ...limited, "--limit", "1");
    const lines = stdout.trimEnd().split("\n").slice(1);
    assert.deepEqual(lines.map((line) => line.split(" ")[0]).sort(), [ended[1], running].sort());
    assert.equal(stderr, "sandpipe: 1 more have ended: --limit 3 shows all.\n");
    assert.equal((await bg("ls", ...limited)).stderr, "");
    await bg("stop", ...limited, running);
  });
});

describe("sandpipe bg ls, of what takes two columns or none", () => {
  it("is aligned, and cut to the terminal's width", async () => {
    // Four columns each.
    const plainNames = [
      "日本",
      "👍ab",
      "e\u0301abc",
      "ＡＢ",
      "한글",
      "한글".normalize("NFD"),
      "four",
    ];
    const names = [...plainNames, "🇩🇪ab"];
    const script = `: ${"長".repeat(100)}`;
    const ids = await Promise.all(names.map((name) => start(script, "--name", name)));
    const plain = (await bg("ls")).stdout;
    const shown = await (await sandpipe.startInTerminal(["bg", "ls"], { env })).end;
    for (const [index, name] of names.entries()) {
      const lineOf = (/** @type {string} */ text) =>
        text.split(/\r?\n/).find((line) => line.includes(`  ${name}  `)) ?? "";
      const title = plain.slice(0, plain.indexOf("\n"));
      const before = lineOf(plain).split("  : ")[0] ?? "";
      const spaces = title.indexOf("SCRIPT") - title.indexOf("NAME") - "four".length;
      assert.ok(before.endsWith(name + " ".repeat(spaces - 2)), before);
      assert.ok(before.startsWith(ids[index] ?? "?"));
      // The columns of what stands before the name are of ASCII.
      const line = lineOf(shown.stdout).replaceAll(/\x1b\[\d+m/g, "");
      const [, rest = ""] = line.split(`  ${name}  `);
      const used = line.length - rest.length - name.length + 4;
      const cut = /^ *: (長+)…$/.exec(rest)?.[1] ?? "";
      const width = used + rest.indexOf("長") + 2 * cut.length + 1;
      assert.ok(width === 100 || width === 99, `${width}: ${line}`);
    }
  });
});

describe("sandpipe bg stop, rm", () => {
  it("stops several, with all that they started, and removes them", async () => {
    const ids = [await start("sleep 1000 & wait"), await start(STUBBORN)];
    await says(ids[1] ?? "", "ready");
    const running = await bg("rm", ...ids);
    assert.equal(running.exitCode, 1);
    assert.match(
      running.stderr,
      /^(sandpipe: [0-9a-f]+: it is still running\. `sandpipe bg stop` stops it\.\n){2}$/,
    );
    const { exitCode, stderr } = await bg("stop", "--grace", "0.5", ...ids);
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
    const codes = await Promise.all(ids.map(async (id) => (await processes.get(id)).exitCode));
    assert.deepEqual(codes, [143, 137]);
    assert.equal((await bg("rm", ...ids)).exitCode, 0);
    const left = (await processes.list()).map(({ id }) => id);
    assert.ok(ids.every((id) => !left.includes(id)));
  });

  it("removes all that have ended, but for what runs", async () => {
    const ended = [await start("exit 3"), await start("true")];
    for (const id of ended) await processes.wait(id);
    // The group of the second one has a process left.
    const running = [await start("sleep 1000"), await start("sleep 1000 & exit 0")];
    await processes.wait(running[1] ?? "");
    const count = (await processes.list()).length - running.length;
    const { exitCode, stdout, stderr } = await bg("rm", "--ended");
    assert.deepEqual([exitCode, stdout, stderr], [0, `${count} removed\n`, ""]);
    const left = (await processes.list()).map(({ id }) => id).sort();
    assert.deepEqual(left, [...running].sort());
    assert.equal((await bg("stop", ...running)).exitCode, 0);
    assert.equal((await bg("rm", "--ended")).stdout, "2 removed\n");
    assert.deepEqual(await processes.list(), []);
    for (const args of [[], ["--ended", "x"]]) {
      const wrong = await bg("rm", ...args);
      assert.equal(wrong.exitCode, 2);
      assert.match(wrong.stderr, /--ended/);
    }
  });

  it("kills on the second Ctrl+C", async () => {
    const id = await start(STUBBORN);
    await says(id, "ready");
    const args = ["bg", "stop", "--grace", "1000", id];
    const invocation = await sandpipe.startInTerminal(args, { env });
    await says(id, "refused");
    invocation.stdin.write("\x03");
    await invocation.says("again to kill now");
    assert.equal((await processes.get(id)).status, "running");
    invocation.stdin.write("\x03");
    assert.match(
      (await invocation.end).stdout,
      /: killed by SIGKILL\.\r\nexit code 130\r\nrestored\r\n$/,
    );
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

  it("is at a machine over SSH, as the SSH configuration has it", async () => {
    const sshd = await startSshd();
    const { port, user, identityFile, knownHostsFile } = sshd.options;
    // Of the working directory no program is started.
    const bin = await mkdtemp(join(tmpdir(), "sandpipe-test-"));
    const config = join(bin, "config");
    const settings = [
      `HostName 127.0.0.1\nPort ${port}\nIdentityFile "${identityFile}"\nIdentitiesOnly yes`,
      `UserKnownHostsFile "${knownHostsFile}"\nGlobalKnownHostsFile none`,
    ];
    await writeFile(config, `Host build\n${settings.join("\n")}\n`);
    // The configuration is found in the user's home directory alone, which is not this test's.
    await writeFile(join(bin, "ssh"), `#!/bin/sh\nexec /usr/bin/ssh -F '${config}' "$@"\n`);
    await chmod(join(bin, "ssh"), 0o755);
    const path = { env: { ...env, PATH: `${bin}:${process.env["PATH"]}` } };
    const there = async (/** @type {string[]} */ ...args) => {
      const invocation = await sandpipe.start(["bg", ...args], path);
      return invocation.end;
    };
    try {
      const ssh = ["--ssh", "build"];
      // It is a child of the SSH server's, and has its variables.
      const started = await there(
        "start",
        ...ssh,
        "-c",
        'test -n "$SSH_CONNECTION"; exit $((42 + $?))',
      );
      assert.deepEqual([started.exitCode, started.stderr], [0, ""]);
      const id = started.stdout.trim();
      assert.equal((await there("wait", "--ssh", `${user}@build`, id)).exitCode, 42);
      assert.equal((await there("rm", ...ssh, id)).exitCode, 0);
    } finally {
      await sshd.stop();
      await rm(bin, { recursive: true });
    }
  });

  it("says in one line what ssh says", async () => {
    const { exitCode, stderr } = await bg("ls", "--ssh", "nobody@127.0.0.1:1");
    assert.equal(exitCode, 125);
    assert.match(stderr, /^sandpipe: .*127\.0\.0\.1.*\n$/);
  });
});
