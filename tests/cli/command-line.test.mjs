// @ts-check
// `sandpipe` where its command line is wrong, where nothing can be run, and its help.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { milliseconds } from "../../dist/cli/option-values.js";
import { installSandpipe } from "../support/installed-cli.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

describe("sandpipe", () => {
  /** @type {[name: string, args: string[], says: RegExp][]} */
  const WRONG = [
    ["an unknown command", ["walk"], /unknown command 'walk'.*sandpipe --help/],
    ["a command that is almost one", ["rum"], /unknown command 'rum': did you mean run\? See/],
    ["no command at all", [""], /unknown command ''\. See/],
    ["an option that is almost one", ["run", "--timout", "5", "true"], /did you mean --timeout\?/],
    ["an option before the command", ["--url", "x", "ps"], /'--url': options follow the name/],
    ["an unknown option", ["run", "--walk", "true"], /--walk.*sandpipe run --help/],
    ["an option without its value", ["run", "--cwd"], /--cwd/],
    ["an option that takes its value from the next", ["run", "--cwd", "--", "true"], /--cwd/],
    ["a value for a flag", ["run", "--tty=yes", "true"], /--tty takes no value/],
    ["a digit in place of an option", ["run", "-5", "true"], /unknown option '-5'/],
    [
      "a signal's number in place of an option",
      ["kill", "-9", "x"],
      /'-9': `sandpipe kill -s KILL/,
    ],
    ["a signal's name in place of an option", ["kill", "-HUP", "x"], /'-HUP': .* kill -s HUP ID/],
    [
      "a list of anything",
      ["ls"],
      /'ls': `sandpipe ps` .* `sandpipe files ls` .* `sandpipe bg ls`/,
    ],
    ["a command that resembles another", ["top"], /'top': `sandpipe ps`/],
    ["an account", ["login"], /'login': there are no accounts: `sandpipe agent` prints/],
    [
      "waiting for a command",
      ["wait", "x"],
      /'wait': `sandpipe attach --no-stdin ID` .* bg wait ID`/,
    ],
    [
      "a command in a container",
      ["exec", "x", "--", "ls"],
      /'exec': no id is needed: `sandpipe run -- COMMAND` .* SANDPIPE_URL or --url names\. /,
    ],
    ["a detached command", ["run", "-d", "true"], /'-d': `sandpipe bg start -- COMMAND`/],
    ["a command's name", ["run", "--name", "x", "true"], /'--name': .* bg start --name NAME/],
    ["a sandbox that is removed", ["run", "--rm", "true"], /'--rm': leave it out/],
    [
      "the last lines",
      ["logs", "--tail", "3", "x"],
      /'--tail': `sandpipe logs ID \| tail -n LINES`/,
    ],
    ["the last lines, in short", ["logs", "-n", "3", "x"], /'-n': `sandpipe logs ID \| tail -n/],
    ["another form of a list", ["ps", "-o", "json"], /'-o': `--json` prints JSON/],
    ["a form that there is not", ["kill", "-o", "json", "x"], /unknown option '-o'\. See/],
    ["a removal by force", ["rm", "-f", "x"], /'-f': `sandpipe stop ID` stops what runs/],
    ["a flag of the agent", ["agent", "--keep-for", "1h"], /'--keep-for': flags .* follow `--`/],
    ["a policy's command", ["policy", "chek"], /unknown command 'chek': did you mean check\?/],
    [
      "an address without http",
      ["run", "--url", "localhost:4000", "true"],
      /--url .*"localhost:4000": write http:\/\/localhost:4000/,
    ],
    [
      "an address that is none",
      ["ps", "--url", "ftp://here"],
      /--url must be like http:.*"ftp:\/\/here"/,
    ],
    [
      "an address with a token",
      ["ps", "--url", "http://127.0.0.1:57468/#token=sesame"],
      /^(?!.*sesame).*--url must be the agent's address alone, http:\/\/127\.0\.0\.1:57468: the token/,
    ],
    ["no side in the sandbox", ["cp", "x", "y"], /sandpipe cp x sandbox:y`/],
    ["a side without its name", ["cp", "x", ":y"], /sandpipe cp x sandbox:y`/],
    ["a side as docker has it", ["cp", "3f9c04:/var/a", "."], /sandpipe cp sandbox:\/var\/a \.`/],
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
    assert.equal(await shown("version"), await shown("--version"));
    for (const group of [[], ["bg"], ["policy"]]) {
      assert.equal(await shown(...group), await shown(...group, "--help"));
    }
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
      assert.match(help, new RegExp(`^  (-\\w, )?${option} `, "m"));
    }
    assert.ok(help.split("\n").every((line) => line.length <= 100));
    const groups = [...help.matchAll(/^(\w+):\n {2}-/gm)].map(([, name]) => name);
    assert.deepEqual(groups, ["Options", "Isolation", "Container", "Connection"]);
    const check = await shown("policy", "check", "--help");
    assert.match(check, /^Usage: sandpipe policy check \[OPTIONS\][^]*^Isolation:\n {2}--policy /m);
  });

  it("fits its help to the terminal", async () => {
    const script = "stty cols 60; sandpipe run --help";
    const invocation = await sandpipe.startScriptInTerminal("sh", script);
    const { exitCode, stdout } = await invocation.end;
    assert.equal(exitCode, 0, stdout);
    const [help = "", examples = ""] = stdout.replaceAll("\r", "").split("\nExamples:\n");
    assert.match(help, /^Usage: sandpipe run/);
    assert.match(examples, /sandpipe run -- npm test/);
    assert.deepEqual(
      help.split("\n").filter((line) => line.length > 60),
      [],
    );
    // A meaning of two lines stays in its column.
    assert.match(help, /^ {2}141 {16}stdout or stderr was closed$/m);
    assert.match(help, /^ {2}the command's own {2}128 \+ N .*\n {21}\S/m);
  });

  it("takes times in seconds, or with their unit", () => {
    const times = { "5s": 5000, 5: 5000, ".5": 500, "250ms": 250, "1.5m": 90_000, "2h": 7_200_000 };
    for (const [text, time] of Object.entries(times)) assert.equal(milliseconds("", text), time);
    for (const text of ["", "s", "5 s", "5w", "1e3", "25d"]) {
      assert.throws(() => milliseconds("--timeout", text), /--timeout must be a time up to/);
    }
  });

  it("refuses an argument that is not UTF-8", async () => {
    const marked = "run -- printf %s";
    for (const [line, says] of /** @type {const} */ ([
      [`sandpipe ${marked} "$(printf 'a\\377')"`, /^sandpipe: the argument "a\ufffd" is not UTF-8/],
      [
        `A="$(printf 'a\\377')" sandpipe run --env A -- true`,
        /^sandpipe: the value of A is not UTF-8/,
      ],
    ])) {
      const { exitCode, stdout, stderr } = await (await sandpipe.startInShell(line)).end;
      assert.deepEqual([exitCode, stdout], [2, ""]);
      assert.match(stderr, says);
    }
    // U+FFFD itself is UTF-8.
    const end = await sandpipe.run(["run", "--policy", "open", "--", "printf", "%s", "\ufffd"]);
    assert.deepEqual([end.exitCode, end.stdout], [0, "\ufffd"], end.stderr);
  });
});
