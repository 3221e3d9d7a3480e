// @ts-check
// What a model is told of the policy that its commands run under.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { connect } from "sandpipe";
import { createSandbox, localRuntime, startAgent } from "sandpipe/node";
import { tools } from "sandpipe/tools";

import { policyText, refusalLine } from "../../dist/tools/policy-text.js";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { startServer } from "../support/mcp-server.mjs";
import { failure } from "../support/script.mjs";
import { visibleDirectory } from "./visible-directory.mjs";

/** @import { Runtime } from "sandpipe" */
/** @import { PolicySummary } from "../../dist/policy-summary.js" */

/** @type {PolicySummary} */
const WORKSPACE = {
  ...{ name: "workspace", workspace: "/work", write: ["./", "~/x"] },
  ...{ network: "host", git: "read", settings: [".npmrc", ".vscode"] },
};

describe("the text about a policy", () => {
  it("names what commands may touch, and what to ask for", () => {
    const text = policyText(WORKSPACE);
    for (const told of [
      "run in /work under the policy workspace",
      "may write /work, ~/x and temporary files",
      ".git is read-only: to commit, ask the user for --extend commits",
      "Settings that tools execute, such as .npmrc or .vscode, are read-only if they were there",
      "Network: everything that this machine reaches",
      "--allow-write PATH, --allow-net HOST",
    ]) {
      assert.ok(text.includes(told), text);
    }
    const strict = policyText({ ...WORKSPACE, write: [], network: "none", git: "any" });
    assert.match(strict, /may write temporary files;.*Network: no host\./);
    assert.ok(!/\.git|Settings/.test(strict), strict);
    const some = policyText({ ...WORKSPACE, network: { allow: ["a.example:443"] } });
    assert.match(some, /Network: only a\.example:443, by the proxy that HTTPS_PROXY names\./);
    const open = policyText({ ...WORKSPACE, name: "open", write: ["/"] });
    assert.match(open, /^Commands run in \/work, unconfined, with the permissions of the user/);
  });
});

describe("the line about a refusal", () => {
  it("is there for what the policy refuses, and for nothing else", () => {
    /** @type {PolicySummary} */
    const offline = { ...WORKSPACE, name: "offline", network: "none" };
    /** @type {PolicySummary} */
    const some = { ...WORKSPACE, name: "custom", network: { allow: ["a.example"] } };
    for (const [policy, said, line] of /** @type {const} */ ([
      [WORKSPACE, "sh: 1: cannot create /x: Read-only file system", /: commands may write only /],
      [WORKSPACE, "Error: EROFS: read-only file system, open '/x'", /--allow-write PATH/],
      [WORKSPACE, "Unable to create '/w/.git/index.lock': Read-only file system", /commits\.$/],
      [
        WORKSPACE,
        "fatal: cannot copy '/usr/share/git-core/templates/description' to '/w/.git/description': Read-only file system",
        /To make a repository, ask the user for --extend '!git'\.$/,
      ],
      [offline, "curl: (6) Could not resolve host: a.example", /reach no host\./],
      [offline, "npm error code EAI_AGAIN", /--allow-net HOST/],
      [some, "curl: (56) CONNECT tunnel failed, response 403", /HTTPS_PROXY names\. For another/],
      [some, "cause: Error: getaddrinfo EAI_AGAIN b.example", /that ignores HTTPS_PROXY, such as/],
      [offline, "Error: getaddrinfo EAI_AGAIN b.example", /reach no host\. For another host/],
      [some, "Proxy tunneling failed: Forbidden", /reach only a\.example, /],
      [offline, "ssh: Could not resolve hostname a.example: Name or service not known", /no host/],
      [offline, "Temporary failure resolving 'deb.debian.org'", /no host/],
      [WORKSPACE, "sh: 1: cannot create .npmrc: Read-only file system", /'!tool-settings'\.$/],
      [WORKSPACE, "EROFS: read-only file system, open '/work/a/.vscode/x'", /'!tool-settings'\.$/],
      [WORKSPACE, "sh: 1: cannot create /home/.npmrc: Read-only file system", /--allow-write PATH/],
      [WORKSPACE, "sh: 1: cannot create .npmrc.bak: Read-only file system", /--allow-write PATH/],
      [{ ...WORKSPACE, settings: [] }, "open .npmrc: Read-only file system", /--allow-write PATH/],
      [WORKSPACE, "wrote .npmrc\ntouch: cannot touch 'x': Read-only file system", /write PATH/],
      [WORKSPACE, "The image has a read-only file system: erofs, or EROFS", undefined],
      [offline, "npm error Could not resolve dependency:\nnpm error peer react", undefined],
      [offline, 'X [ERROR] Could not resolve "react"', undefined],
      [offline, "Could not resolve entry module (index.html).", undefined],
      [offline, "src/name.ts: the rules of name resolution, ENOTFOUND among them", undefined],
      [WORKSPACE, "curl: (6) Could not resolve host: a.example", undefined],
      [offline, "Permission denied", undefined],
      [{ ...WORKSPACE, name: "open" }, "Read-only file system", undefined],
    ])) {
      const told = refusalLine(policy, said);
      if (line === undefined) assert.equal(told, undefined, said);
      else assert.match(told ?? "", line, said);
      assert.ok(!told?.includes("\n"));
    }
  });
});

describe("tools of a confined sandbox", { skip: noBubblewrap }, () => {
  const folder = realpathSync(visibleDirectory());
  after(() => rmSync(folder, { recursive: true }));

  /** @param {Runtime} runtime */
  const toolsOf = (runtime) => {
    const made = tools(runtime);
    return {
      descriptions: Object.fromEntries(made.map(({ name, description }) => [name, description])),
      /** @param {string} name @param {object} input */
      call: (name, input) => made.find((one) => one.name === name)?.execute(input),
    };
  };

  it("name the policy, and say in a result what it has refused", async () => {
    const workspace = mkdtempSync(join(folder, "work space-"));
    execFileSync("git", ["init", "--quiet"], { cwd: workspace });
    const sandbox = await createSandbox({ workspace, policy: "offline" });
    const { descriptions, call } = toolsOf(sandbox);
    for (const name of ["bash", "file_write", "file_edit"]) {
      const description = descriptions[name] ?? "";
      assert.ok(description.includes(`run in ${workspace} under the policy offline`), description);
      assert.match(description, /\.git is read-only.*Network: no host\./);
    }
    assert.ok(!descriptions["file_read"]?.includes("policy"));
    const script = (/** @type {string} */ text) => call("bash", { script: `LC_ALL=C; ${text}` });
    assert.equal(await script("echo x > file && echo made"), "exit code: 0\n\nmade\n");
    const outside = `echo x > '${folder}/outside'`;
    const refused = await script(outside);
    const [head = "", ...output] = (refused ?? "").split("\n\n");
    assert.match(head, /^exit code: [12]\nrefused by the policy offline: commands may write only /);
    assert.match(output.join("\n\n"), /^[^\n]*outside[^\n]*: Read-only file system\n$/);
    assert.match((await script("git add file")) ?? "", /\nrefused by .*--extend commits\.\n\n/);
    const url = "https://registry.example/";
    const host = await script(`'${process.execPath}' -e 'fetch("${url}")'`);
    assert.match(host ?? "", /\nrefused by the policy offline: commands reach no host\./);
    const path = `${folder}/outside`;
    const { message } = await failure(Promise.resolve(call("file_write", { path, content: "x" })));
    assert.match(message, /Read-only file system[^]*\nrefused by the policy offline: commands may/);
    await sandbox.stop();
  });

  it("know it from the agent that a sandbox is connected to", async () => {
    const agent = await startAgent({ workspace: folder, policy: "strict" });
    assert.equal(agent.policy, "strict");
    const sandbox = await connect(agent);
    assert.match(toolsOf(sandbox).descriptions["bash"] ?? "", /under the policy strict/);
    const { url, token } = agent;
    const other = await connect({ url, token });
    assert.ok(!toolsOf(other).descriptions["bash"]?.includes("policy"));
    await agent.stop();
  });

  it("are served with instructions that name it", async () => {
    const server = await startServer({}, { cwd: folder });
    const instructions = server.client.getInstructions() ?? "";
    assert.ok(instructions.includes(`run in ${folder} under the policy workspace`), instructions);
    const { tools: listed } = await server.client.listTools();
    assert.ok(listed[0]?.description?.includes(instructions));
    await server.close();
  });
});

describe("tools without a policy", () => {
  it("say that commands run unconfined", async () => {
    const agent = await startAgent();
    assert.equal(agent.policy, "open");
    const sandbox = await connect(agent);
    for (const runtime of [sandbox, localRuntime()]) {
      assert.match(tools(runtime)[0].description, /unconfined, with the permissions of the user/);
    }
    await agent.stop();
  });
});
