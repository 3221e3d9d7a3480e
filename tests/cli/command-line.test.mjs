// @ts-check
// `sandpipe` where its command line is wrong, where nothing can be run, and its help.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { installSandpipe } from "../support/installed-cli.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

describe("sandpipe", () => {
  /** @type {[name: string, args: string[], says: RegExp][]} */
  const WRONG = [
    ["no command", [], /no command was given.*sandpipe --help/],
    ["an unknown command", ["walk"], /unknown command 'walk'.*sandpipe --help/],
    ["a command that is almost one", ["rum"], /unknown command 'rum'.*mean.*run/],
    ["an unknown option", ["run", "--walk", "true"], /--walk.*sandpipe run --help/],
    ["an option without its value", ["run", "--cwd"], /--cwd/],
    ["an option that takes its value from the next", ["run", "--cwd", "--", "true"], /--cwd/],
    ["a value for a flag", ["run", "--tty=yes", "true"], /--tty takes no value/],
    ["a digit in place of an option", ["run", "-5", "true"], /unknown option '-5'/],
    ["a signal's number in place of an option", ["kill", "-9", "x"], /unknown option '-9'/],
    ["a digit before the command", ["-0", "ps"], /unknown option '-0'/],
    ["an unknown option before another program's help", ["run", "--walk", "df", "-h"], /--walk/],
    ["an unknown option before all of that", ["--walk", "x", "run", "--", "df", "-h"], /--walk/],
    ["a secret in an unknown option", ["ps", "--token=secret"], /unknown option '--token'\./],
    ["nothing to run", ["run", "--"], /nothing to run.*sandpipe run -- ls/],
    ["a variable without a value", ["run", "--env", "NAME", "true"], /NAME=VALUE.*"NAME"/],
    ["a time that is none", ["run", "--grace", "soon", "true"], /--grace.*seconds.*"soon"/],
    ["a negative time", ["run", "--timeout", "-1", "true"], /--timeout.*seconds.*"-1"/],
    ["a negative grace period", ["stop", "--grace", "-0.5", "x"], /--grace.*seconds.*"-0\.5"/],
    ["a time that is no number", ["run", "--timeout", "nan", "true"], /--timeout.*"nan"/],
    ["a negative number of bytes", ["bg", "logs", "--tail", "-3", "x"], /--tail.*bytes.*"-3"/],
    ["a negative number of a piece", ["logs", "-f", "--since", "-1", "x"], /--since.*"-1"/],
    ["a signal that is none", ["kill", "-s", "-9", "x"], /--signal.*"-9"/],
    ["a variable without a name", ["run", "--env", "=x", "true"], /NAME=VALUE.*"=x"/],
    ["a variable that no shell has", ["bg", "start", "--env", "A-B=x", "true"], /--env.*"A-B"/],
    ["no directory", ["run", "--cwd", "", "true"], /--cwd must not be empty/],
    ["an option in place of a value", ["run", "--cwd", "-i", "true"], /--cwd needs a value.*"-i"/],
    [
      "the same, which the command has, too",
      ["run", "--cwd", "-i", "cat", "--cwd=-i"],
      /--cwd needs a value.*"-i"/,
    ],
    ["-- before a command's name", ["--", "run", "-i", "cat"], /"--" can only follow.*sandpipe --/],
    ["-- before the name in a group", ["bg", "--", "ls"], /"--" can only follow.*sandpipe bg --/],
    ["an expression that is none", ["bg", "logs", "--grep", "(", "x"], /--grep.*"\("/],
    ["help for what there is not", ["help", "bg", "walk"], /no command "bg walk"/],
    ["a time that is too long", ["run", "--timeout", "1e9", "true"], /--timeout.*"1e9"/],
    ["no time at all", ["run", "--timeout", "0", "true"], /--timeout.*more than 0/],
    ["a token without an address", ["run", "--token-file", "x", "true"], /--token-file.*--url/],
  ];
  /** What the program would say and end with, which one process finds out for all. @type {{ exitCode: number, stdout: string, stderr: string }[]} */
  let ends;
  before(async () => {
    const script = `
      const { main } = await import(${JSON.stringify(new URL("../../dist/cli/main.js", import.meta.url))});
      const ends = [];
      const { stdout, stderr } = process;
      const write = stdout.write.bind(stdout);
      for (const args of ${JSON.stringify(WRONG.map(([, args]) => args))}) {
        const said = { stdout: "", stderr: "" };
        for (const name of ["stdout", "stderr"]) {
          process[name].setMaxListeners(0).write = (text, done) => {
            said[name] += text;
            done?.();
            return true;
          };
        }
        const { exitCode } = await main(args);
        ends.push({ exitCode, ...said });
      }
      write(JSON.stringify(ends), () => process.exit());`;
    const args = ["--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    ends = JSON.parse(stdout);
  });

  for (const [index, [name, , says]] of WRONG.entries()) {
    it(`ends with 2 and one line of explanation for ${name}`, () => {
      const { exitCode, stdout, stderr } = ends[index] ?? assert.fail("it did not end");
      assert.deepEqual({ exitCode, stdout }, { exitCode: 2, stdout: "" });
      assert.match(stderr, /^sandpipe: .*\n$/);
      assert.match(stderr, says);
    });
  }

  it("ends so as a program, too", async () => {
    for (const [, args, says] of WRONG.slice(0, 3)) {
      const { exitCode, stdout, stderr } = await sandpipe.run(args);
      assert.deepEqual({ exitCode, stdout }, { exitCode: 2, stdout: "" });
      assert.match(stderr, /^sandpipe: .*\n$/);
      assert.match(stderr, says);
    }
  });

  /** @type {[name: string, args: string[], says: RegExp, env?: NodeJS.ProcessEnv][]} */
  const FAILURES = [
    ["a directory that is not there", ["--cwd", "/no/such"], /\/no\/such/],
    ["a user who is not there", ["--user", "no-such-user"], /no-such-user/],
    ["an agent that is not there", ["--url", "http://127.0.0.1:9"], /127\.0\.0\.1:9/],
    ["an address that is none", ["--url", "here"], /url/],
    [
      "a token file that is not there",
      ["--url", "http://127.0.0.1:9", "--token-file", "/no/such"],
      /token file.*\/no\/such/,
    ],
    ["no agent to start", [], /\/no\/agent.*SANDPIPE_AGENT/, { SANDPIPE_AGENT: "/no/agent" }],
    ["a terminal where there is none", ["-t"], /-t needs a terminal/],
  ];
  for (const [name, options, says, env = {}] of FAILURES) {
    it(`ends with 125 and one line of explanation for ${name}`, async () => {
      const { exitCode, stdout, stderr } = await sandpipe.run(["run", ...options, "true"], { env });
      assert.deepEqual({ exitCode, stdout }, { exitCode: 125, stdout: "" });
      assert.match(stderr, /^sandpipe: .*\n$/);
      assert.match(stderr, says);
    });
  }

  it("shows its help and its version", async () => {
    const shown = async (/** @type {string[]} */ ...args) => {
      const { exitCode, stdout, stderr } = await sandpipe.run(args);
      assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
      return stdout;
    };
    assert.match(await shown("--version"), /^sandpipe \d+\.\d+\.\d+\n$/);
    assert.equal(await shown("-v"), await shown("--version"));
    assert.equal(await shown("-V"), await shown("--version"));
    assert.equal(await shown("help"), await shown("--help"));
    assert.equal(await shown("help", "run"), await shown("run", "--help"));
    assert.equal(await shown("help", "bg", "stop"), await shown("bg", "stop", "--help"));
    assert.match(await shown("--help"), /^Usage: sandpipe COMMAND[^]*^ +run +run a command/m);
    const help = await shown("run", "--help");
    for (const command of [["run"], ["bg", "wait"]]) {
      const text = await shown("help", ...command);
      // The codes stand in a column of their own, their meanings in another.
      const [, codes = ""] = /^Exit codes:\n([^]*?)\n\n/m.exec(text) ?? [];
      for (const line of codes.split("\n")) assert.match(line, /^ {2}.{18} \S/, line);
    }
    for (const option of ["--url", "--token-file", "--cwd", "--env", "--user", "--timeout"]) {
      assert.match(help, new RegExp(`^  ${option} `, "m"));
    }
    assert.ok(help.split("\n").every((line) => line.length <= 100));
  });
});
