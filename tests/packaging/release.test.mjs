// @ts-check
// What publishes the packages, against a registry of the test's own.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import { writeServerJson } from "../../scripts/release/server-json.mjs";
import { dist, root } from "../../scripts/project.mjs";
import { obstacles } from "../../scripts/release/obstacles.mjs";
import { publish } from "../../scripts/release/publish.mjs";
import { temporaryFolder } from "../support/installed-package.mjs";

const execute = promisify(execFile);

/** @type {string} */
let folder;
before(async () => {
  folder = await temporaryFolder();
});
after(() => rm(folder, { recursive: true, force: true }));

describe("npm run release", () => {
  it("refuses to publish what is not the tag's version", async () => {
    const args = ["run", "release", "--", "--tag", "v0.0.0", folder];
    await assert.rejects(execute("npm", args, { cwd: root }), ({ code, stderr }) => {
      assert.equal(code, 1);
      assert.match(stderr, /The tag is v0\.0\.0/);
      return true;
    });
  });

  it("publishes a version that is the tag's, and that the changelog tells of", () => {
    const changelog = "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-11-23)\n";
    const about = { slug: "a/b", placeholder: "OWNER", changelog, readme: "# Sandpipe" };
    const right = { ...about, version: "1.2.3", tag: "v1.2.3" };
    assert.deepEqual(obstacles(right), []);
    for (const [wrong, line] of /** @type {const} */ ([
      [{ slug: "OWNER/b" }, /OWNER/],
      [{ tag: "v1.2.4" }, /tag is v1\.2\.4.*: v1\.2\.3/],
      [{ tag: "1.2.3" }, /tag is 1\.2\.3/],
      [{ changelog: "## 1.2.30 (2026-11-23)" }, /CHANGELOG\.md/],
      [{ readme: "No version is on npm yet: …" }, /README\.md/],
    ])) {
      const lines = obstacles({ ...right, ...wrong });
      assert.equal(lines.length, 1);
      assert.match(lines[0] ?? "", line);
    }
  });
});

describe("the workflows", () => {
  it("run commands of this project that exist, and actions at a commit", async () => {
    const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const workflows = join(root, ".github", "workflows");
    let commands = 0;
    for (const name of await readdir(workflows)) {
      const workflow = await readFile(join(workflows, name), "utf8");
      for (const [, script = ""] of workflow.matchAll(/\bnpm run ([\w-]+)/g)) {
        assert.ok(script in scripts, `${name}: npm run ${script}`);
        commands += 1;
      }
      for (const [line] of workflow.matchAll(/uses: .*/g)) {
        assert.match(line, /@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
      }
    }
    assert.ok(commands > 0);
  });
});

describe("a package that is published", () => {
  /** What the registry has, and how often it does not show it yet. @type {Map<string, { document: any, hidden: number }>} */
  const packages = new Map();
  const server = createServer((request, response) => {
    void answer(request, response);
  });
  let puts = 0;

  before(async () => {
    await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
    const address = server.address();
    const host = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    process.env["npm_config_registry"] = `http://${host}/`;
    process.env[`npm_config_//${host}/:_authToken`] = "token";
    process.env["npm_config_cache"] = join(folder, "cache");
  });
  after(() => server.close());

  /** @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} response */
  async function answer(request, response) {
    const name = decodeURIComponent((request.url ?? "").slice(1).replace(/[/?].*/, ""));
    if (request.method === "PUT") {
      puts += 1;
      packages.set(name, { document: JSON.parse(await text(request)), hidden: 2 });
      response.end("{}");
      return;
    }
    const known = packages.get(name);
    if (known === undefined || known.hidden > 0) {
      if (known !== undefined) known.hidden -= 1;
      response.statusCode = 404;
      response.end("{}");
      return;
    }
    response.end(JSON.stringify(known.document));
  }

  /** @param {string} content */
  async function packed(content) {
    const source = join(folder, "source");
    await mkdir(source, { recursive: true });
    const manifest = { name: "a-package", version: "1.0.0", description: content };
    await writeFile(join(source, "package.json"), JSON.stringify(manifest));
    await execute("npm", ["pack", "--pack-destination", folder], { cwd: source });
    return { name: "a-package", version: "1.0.0", tarball: join(folder, "a-package-1.0.0.tgz") };
  }

  it("can be seen to be there before the next one is, and is published once", async () => {
    const release = await packed("first");
    await publish(release);
    assert.equal(packages.get("a-package")?.hidden, 0);
    await publish(release);
    assert.equal(puts, 1);
  });

  it("is never taken for another one of its name", async () => {
    await assert.rejects(publish(await packed("second")), /a-package@1\.0\.0 .*other contents/);
    assert.equal(puts, 1);
  });
});

describe("server.json", () => {
  it("names the server as the package does, and the package's version", async () => {
    writeServerJson(folder);
    const server = JSON.parse(await readFile(join(folder, "server.json"), "utf8"));
    const { mcpName, name, version } = JSON.parse(
      await readFile(join(dist, "package.json"), "utf8"),
    );
    assert.equal(server.name, mcpName);
    assert.match(server.name, /^io\.github\.[^/]+\/sandpipe$/);
    const [npm] = server.packages;
    assert.deepEqual(
      [server.version, npm.identifier, npm.version, npm.transport],
      [version, name, version, { type: "stdio" }],
    );
    // The registry takes no longer one.
    assert.ok(server.description.length <= 100, server.description);
  });
});
