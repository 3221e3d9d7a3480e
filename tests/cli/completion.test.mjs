// @ts-check
// `sandpipe completion` in bash, zsh and fish.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { installSandpipe } from "../support/installed-cli.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

/** @param {string} shell */
async function script(shell) {
  const { exitCode, stdout, stderr } = await sandpipe.run(["completion", shell]);
  assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
  return stdout;
}

/** What a program named sandpipe prints that the completion asks for ids. */
let printed = "";

/** What is offered for the last word, as bash asks for it. @param {string} shell @param {string[]} words */
async function offered(shell, ...words) {
  const file = join(sandpipe.path, `completion.${shell}`);
  await writeFile(file, await script(shell));
  const list = `sandpipe() { echo "$*" > '${file}.asked'; printf '%s' '${printed}'; }`;
  const ask = `source '${file}'; ${list}
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$*; COMP_POINT=\${#COMP_LINE}
    _sandpipe; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ["-c", ask, "bash", "sandpipe", ...words];
  return execFileSync("bash", ["--norc", ...args], { encoding: "utf8" })
    .trim()
    .split("\n")
    .sort();
}

describe("sandpipe completion bash", () => {
  it("completes commands, also those of a group, and options", async () => {
    const all = [
      "agent",
      "attach",
      "bg",
      "completion",
      "console",
      "kill",
      "logs",
      "ps",
      "run",
      "stop",
    ];
    assert.ok(all.every((name) => name !== undefined));
    const commands = await offered("bash", "");
    assert.deepEqual(
      commands.filter((name) => all.includes(name)),
      all,
    );
    assert.deepEqual(await offered("bash", "c"), ["completion", "console", "cp"]);
    assert.deepEqual(await offered("bash", "wait"), ["wait-port"]);
    assert.deepEqual(await offered("bash", "files", ""), ["cat", "ls", "rm", "watch"]);
    assert.deepEqual(await offered("bash", "cp", "--e"), ["--exclude"]);
    assert.deepEqual(await offered("bash", "--v"), ["--version"]);
    assert.deepEqual(await offered("bash", "bg", "st"), ["start", "stop"]);
    assert.deepEqual(await offered("bash", "logs", "--f"), ["--follow"]);
    assert.deepEqual(await offered("bash", "bg", "logs", "--gr"), ["--grep"]);
    assert.deepEqual(await offered("bash", "run", "--env", "A=1", "--in"), ["--interactive"]);
  });

  it("leaves what is another command's to files", async () => {
    assert.deepEqual(await offered("bash", "run", "--", "ls", "--"), [""]);
    assert.deepEqual(await offered("bash", "cp", ""), [""]);
    assert.deepEqual(await offered("bash", "logs", "--token-file", ""), [""]);
  });

  it("completes presets, other values and what `help` explains", async () => {
    const presets = ["offline", "open", "strict", "workspace"];
    for (const words of [
      ["run", "--policy", ""],
      ["run", "--policy", "=", ""],
      ["run", "--policy", "="],
      ["policy", "explain", ""],
    ]) {
      assert.deepEqual(await offered("bash", ...words), presets);
    }
    assert.deepEqual(await offered("bash", "mcp", "--print-config", "c"), [
      "claude",
      "codex",
      "cursor",
    ]);
    assert.deepEqual(await offered("bash", "policy", ""), ["check", "explain"]);
    assert.deepEqual(await offered("bash", "completion", ""), ["bash", "fish", "zsh"]);
    assert.deepEqual(await offered("bash", "help", "bg", "st"), ["start", "stop"]);
  });

  it("completes ids, and nothing else that an agent says", async () => {
    const asked = () => readFileSync(join(sandpipe.path, "completion.bash.asked"), "utf8");
    printed = "3f9c04\n3f$(touch x)\n3f`id`\n3f;ls\n8a77e1\n";
    assert.deepEqual(await offered("bash", "logs", "-f", "3f"), ["3f9c04"]);
    assert.equal(asked(), "ps -q\n");
    assert.deepEqual(await offered("bash", "bg", "stop", "3f9c04", ""), ["3f9c04", "8a77e1"]);
    assert.equal(asked(), "bg ls -q\n");
    for (const [typed, listed] of /** @type {const} */ ([
      ["bg logs --ssh host --tail 5 ", "bg ls -q --ssh host"],
      ["bg stop --namespace=ci --local ", "bg ls -q --namespace=ci --local"],
      [
        "logs --json --url http://[::1]:80 --token-file ~/a\\ b ",
        `ps -q --url http://[::1]:80 --token-file ${process.env["HOME"]}/a b`,
      ],
    ])) {
      assert.deepEqual(await offered("bash", ...typed.split(" ")), ["3f9c04", "8a77e1"]);
      assert.equal(asked(), `${listed}\n`);
    }
    assert.deepEqual(await offered("bash", "logs", "--f"), ["--follow"]);
  });

  it("is known to bash as sandpipe's", async () => {
    const ask = `${await script("bash")}\ncomplete -p sandpipe`;
    const known = execFileSync("bash", ["--norc", "-c", ask], { encoding: "utf8" });
    assert.equal(known, "complete -o default -F _sandpipe sandpipe\n");
  });
});

/** Why tests of a shell are skipped; false where it is installed. @param {string} shell */
const missing = (shell) => !existsSync(`/usr/bin/${shell}`) && `${shell} is not installed`;

describe("sandpipe completion fish", { skip: missing("fish") }, () => {
  it("offers commands, options, values and ids", async () => {
    const file = join(sandpipe.path, "completion.fish");
    await writeFile(file, await script("fish"));
    const cases = /** @type {const} */ ([
      ["sandpipe c", ["completion", "console", "cp"]],
      ["sandpipe bg st", ["start", "stop"]],
      ["sandpipe logs --f", ["--follow"]],
      ["sandpipe logs -f 3f", ["3f9c04"]],
      ["sandpipe bg stop --ssh host --namespace=ci --local 8", ["8a77e1"]],
      ["sandpipe run --policy o", ["offline", "open"]],
      ["sandpipe policy ", ["check", "explain"]],
      ["sandpipe help bg st", ["start", "stop"]],
      ["sandpipe run --env A=1 --in", ["--interactive"]],
      ["sandpipe run -- ls --", []],
    ]);
    const ask = `source '${file}'
      function sandpipe; echo $argv >> '${file}.asked'; printf '%s\\n' 3f9c04 8a77e1; end
      for line in $argv; echo (complete -C "$line" | string split -f1 \\t); end`;
    const args = ["--no-config", "-c", ask, ...cases.map(([line]) => line)];
    const env = { ...process.env, HOME: sandpipe.path };
    const said = execFileSync("fish", args, { encoding: "utf8", env });
    const offers = said.split("\n").map((line) => line.trim().split(" ").filter(Boolean));
    assert.deepEqual(
      offers.slice(0, cases.length),
      cases.map(([, offer]) => offer),
    );
    const asked = new Set(readFileSync(`${file}.asked`, "utf8").trim().split("\n"));
    assert.deepEqual([...asked], ["ps -q", "bg ls -q --ssh host --namespace=ci --local"]);
  });
});

describe("sandpipe completion zsh", { skip: missing("zsh") }, () => {
  it("completes commands, options, values and ids by the tab key", async () => {
    const [file, ran] = ["completion.zsh", "ran.zsh"].map((name) => join(sandpipe.path, name));
    await writeFile(`${file}`, await script("zsh"));
    const elsewhere = "--ssh host --namespace=ci --local";
    const cases = [
      ["bg sta", "bg start"],
      ["logs --f", "logs --follow"],
      ["logs -f 3f", "logs -f 3f9c04"],
      [`bg rm ${elsewhere} 3f`, `bg rm ${elsewhere} 3f9c04`],
      ["run --policy off", "run --policy offline"],
      ["run --env A=1 --in", "run --env A=1 --interactive"],
      ["policy ex", "policy explain"],
      ["help bg sto", "help bg stop"],
      ["run -- ls --fol", "run -- ls --fol"],
    ];
    const input = [
      `autoload -Uz compinit; compinit -u -D; source '${file}'`,
      `sandpipe() {
        local log='${ran}'
        [[ $* == *' -q'* ]] && { print 3f9c04; log='${file}.asked' }
        print -r -- "$*" >> $log
      }`,
      ...cases.map(([typed]) => `sandpipe ${typed}\t`),
      "exit\n",
    ];
    const env = { ...process.env, HOME: sandpipe.path, TERM: "dumb" };
    const options = { input: input.join("\n"), env, timeout: 60_000 };
    execFileSync("script", ["-qc", "zsh -f", "/dev/null"], options);
    const lines = readFileSync(`${ran}`, "utf8").trim().split("\n");
    assert.deepEqual(
      lines.map((line) => line.trim()),
      cases.map(([, completed]) => completed),
    );
    const asked = readFileSync(`${file}.asked`, "utf8");
    assert.equal(asked, `ps -q\nbg ls -q ${elsewhere}\n`);
  });
});

describe("sandpipe completion", () => {
  it("has every command for every shell, and refuses one that it does not know", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const text = await script(shell);
      for (const name of ["attach", " bg logs", "no-open"]) assert.ok(text.includes(name), name);
    }
    const { exitCode, stderr } = await sandpipe.run(["completion", "csh"]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /^sandpipe: .*bash, zsh and fish.*"csh".*\n$/);
  });
});
