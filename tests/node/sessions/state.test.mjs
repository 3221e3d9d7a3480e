// @ts-check
import assert from "node:assert/strict";

import { InvalidArgumentError, SandpipeError, SessionError } from "sandpipe";

import { failure } from "../../support/script.mjs";
import { testSessions } from "./place.mjs";

testSessions("what sessions remember", (place, { it, shellContract, contract }) => {
  shellContract("remembers directory, variables, functions, aliases, umask and exit code", () =>
    place.inSession(async (session) => {
      const define = `cd /; VALUE='a b'; greet() { echo "hello $1"; }; alias ll='echo alias'
        umask 027; export EXPORTED=yes; set -u; set -- one two; exec 3>&1`;
      assert.deepEqual(await session.run(define), { exitCode: 0, output: "" });
      const recall = `pwd; echo "$VALUE"; greet you; ll; umask; sh -c 'echo $EXPORTED'
        echo $# $2; echo three >&3; echo $-; (exit 7)`;
      const { exitCode, output } = await session.run(recall);
      const [directory, value, greeting, alias, mask, exported, parameters, three, flags] =
        output.split("\n");
      assert.deepEqual(
        [directory, value, greeting, alias, mask, exported, parameters, three],
        ["/", "a b", "hello you", "alias", "0027", "yes", "2 two", "three"],
      );
      assert.match(flags ?? "", /u/);
      assert.equal(exitCode, 7);
      assert.equal((await session.run("echo $?")).output, "7\n");
      assert.equal((await session.run("echo $?")).output, "0\n");
    }),
  );

  contract("starts where, as whom and with what it is told", () =>
    place.inSession(
      async (session) => {
        const { output } = await session.run('pwd; echo "$NAME"; echo "${ENV-unset}"; id -u');
        assert.equal(output, `/tmp\nvalue\nunset\n${process.getuid?.()}\n`);
      },
      { cwd: "/tmp", env: { NAME: "value" }, user: String(process.getuid?.()) },
    ),
  );

  shellContract("survives what a shell can't make sense of", () =>
    place.inSession(async (session) => {
      await session.run("KEPT=yes");
      for (const script of [
        "echo 'unbalanced",
        "if",
        "foo (",
        "echo $(",
        ")",
        "echo ${:bad}",
        ": ${unset_variable?must be set}",
        "readonly FIXED=1; FIXED=2",
      ]) {
        const { exitCode, output } = await session.run(script);
        assert.ok(exitCode > 0, script);
        assert.notEqual(output, "", script);
        assert.equal((await session.run("echo $KEPT")).output, "yes\n", script);
      }
      assert.equal((await session.run("nonexistent_command_xyz")).exitCode, 127);
      assert.equal((await session.run("return 4")).exitCode, 4);
      const { output } = await session.run("cat <<'EOF'\n$KEPT \"'\nEOF\n# a comment");
      assert.equal(output, "$KEPT \"'\n");
    }),
  );

  shellContract("gets along with functions and aliases named like a shell's own commands", () =>
    place.inSession(async (session) => {
      const definitions = ["printf() { :; }; alias command=false unset=false", "command() { :; }"];
      if (place.shell === "bash") {
        definitions.push("function . { :; }", "exec() { :; }; set() { :; }; unset() { :; }");
      }
      for (const definition of definitions) {
        const first = await session.run(`${definition}; (exit 23)`);
        assert.deepEqual(first, { exitCode: 23, output: "" }, definition);
        const second = await session.run("echo $?; (exit 42)");
        assert.deepEqual(second, { exitCode: 42, output: "23\n" }, definition);
      }
      assert.equal((await session.run("printf hidden; unalias unset")).output, "");
    }),
  );

  contract("takes a script of 2 MB, and none with NUL", () =>
    place.inSession(async (session) => {
      const text = "é'\\\n".repeat(500_000);
      const { output } = await session.run(`wc -c <<'EOF'\n${text}EOF`);
      assert.equal(Number(output), Buffer.byteLength(text));
      const error = await failure(session.run("echo a\0b"));
      assert.ok(error instanceof InvalidArgumentError);
      assert.match(error.message, /`script` must be text without NUL/);
      assert.equal((await session.run("echo on")).output, "on\n");
    }),
  );

  contract("is not held up by a job in the background", () =>
    place.inSession(async (session) => {
      assert.deepEqual(await session.run("sleep 1000 & echo started"), {
        exitCode: 0,
        output: "started\n",
      });
      // An interactive shell ignores SIGTERM (bit 0x4000), and so does what it forks, up to its execve(2).
      const ignores = "grep -q '^SigIgn:.*[4-7c-f]...$' /proc/$!/status";
      await session.run(`while ${ignores}; do sleep 0.01; done`);
      const { output } = await session.run("kill -0 $! && echo runs; kill $!; wait; echo over");
      assert.match(output, /^runs\n(.*Terminated.*\n)?over\n$/);
    }),
  );

  shellContract("`set -e` ends the script and lasts no longer than that", () =>
    place.inSession(async (session) => {
      assert.equal((await session.run("set -e; true; echo fine")).output, "fine\n");
      assert.deepEqual(await session.run("false; echo on"), { exitCode: 0, output: "on\n" });
      assert.deepEqual(await session.run("set -e; echo a; (exit 6); echo b"), {
        exitCode: 6,
        output: "a\n",
      });
      const error = await failure(session.run("echo on"));
      assert.ok(error instanceof SessionError && error instanceof SandpipeError);
      assert.match(error.message, /ended with exit code 6 .*`set -e`.*sessions\.create\(\)/);
    }),
  );

  it("runs one script at a time, in order", () =>
    place.inSession(async (session) => {
      const scripts = Array.from({ length: 10 }, (_, number) => `echo ${number}`);
      scripts[0] = "sleep 0.2; LIST=0; echo 0";
      const results = await Promise.all(scripts.map((script) => session.run(script)));
      assert.deepEqual(
        results.map(({ output }) => Number(output)),
        scripts.map((_, number) => number),
      );
    }));
});
