// @ts-check
// Programs of every day under policies without the machine's network: git, npm, Vite, pytest and Postgres.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";

import { createSandbox } from "sandpipe/node";

import { root } from "../../scripts/project.mjs";
import { noBubblewrap } from "../support/bubblewrap.mjs";

const VITE = join(root, "node_modules", "vite", "bin", "vite.js");

/** A Python that has pytest; Debian's is known to no other one. */
const PYTHON = ["/usr/bin/python3", "python3"].find(
  (python) => spawnSync(python, ["-m", "pytest", "--version"]).status === 0,
);

/** Where Debian has the programs of Postgres, by version. */
const VERSIONS = "/usr/lib/postgresql";

/** The directory of Postgres's programs. */
const POSTGRES = [
  ...(process.env["PATH"] ?? "").split(delimiter),
  ...(existsSync(VERSIONS) ? readdirSync(VERSIONS) : []).map((name) => join(VERSIONS, name, "bin")),
].find((directory) => spawnSync(join(directory, "initdb"), ["--version"]).status === 0);

/** The files of a project. @type {Record<string, string>} */
const FILES = {
  "package.json": JSON.stringify({
    name: "project",
    private: true,
    scripts: { test: "node test.cjs" },
    dependencies: { local: "file:local" },
  }),
  "local/package.json": JSON.stringify({ name: "local", version: "1.0.0", main: "index.cjs" }),
  "local/index.cjs": "exports.answer = 42;\n",
  "test.cjs": 'console.log("answer", require("local").answer);\n',
  "site/index.html": '<script type="module" src="./main.js"></script>\n',
  "site/main.js": 'import { answer } from "./answer.js"; document.title = answer;\n',
  "site/answer.js": 'export const answer = "forty-two";\n',
  "test_pools.py": `
from multiprocessing import Manager, Pool, get_context

def square(number):
    return number * number

def test_pool():
    with Pool(2) as pool:
        assert pool.map(square, range(4)) == [0, 1, 4, 9]

def test_server_processes():
    with get_context("forkserver").Pool(1) as pool, Manager() as manager:
        shared = manager.list(pool.map(square, [5]))
        assert list(shared) == [25]
`,
};

/** What a sandbox has besides the files of a machine, which may be below its private /tmp. */
const READ = [join(root, "node_modules")];

for (const [name, policy] of /** @type {const} */ ([
  ["offline", { extends: ["offline"], files: { read: READ } }],
  ["allow", { extends: ["workspace"], files: { read: READ }, network: { allow: ["a.example"] } }],
])) {
  describe(`under ${name}`, { skip: noBubblewrap, concurrency: true }, () => {
    /** @type {string} */
    let workspace;
    /** @type {Awaited<ReturnType<typeof createSandbox>>} */
    let sandbox;
    before(async () => {
      workspace = mkdtempSync(join(tmpdir(), "sandpipe programs-"));
      for (const [path, text] of Object.entries(FILES)) {
        mkdirSync(dirname(join(workspace, path)), { recursive: true });
        writeFileSync(join(workspace, path), text);
      }
      sandbox = await createSandbox({ workspace, policy });
    });
    after(async () => {
      await sandbox.stop();
      rmSync(workspace, { recursive: true });
    });

    /**
     * Returns the output of a script that succeeds.
     *
     * @param {string} script
     * @param {{ args?: string[], cwd?: string, user?: string }} [options]
     */
    async function outputOf(script, { args = [], ...options } = {}) {
      const env = {
        npm_config_cache: join(workspace, ".npm"),
        npm_config_offline: "true",
        npm_config_update_notifier: "false",
      };
      const whole = ["-ec", script, "sh", ...args];
      const { exitCode, output } = await sandbox.execs.exec("sh", whole, { env, ...options });
      assert.equal(exitCode, 0, output);
      return output;
    }

    it("git commits and clones", async () => {
      const output = await outputOf(`
        git init -q repository && cd repository && echo text > file && git add file
        git -c user.name=name -c user.email=a@example commit -qm "A commit"
        git clone -q . ../clone && cd ../clone && git status --short && git log --format=%s`);
      assert.equal(output, "A commit\n");
    });

    it("npm installs and runs a script", async () => {
      const output = await outputOf(`
        npm install --silent
        npm ci --silent
        npm test --silent`);
      assert.equal(output, "answer 42\n");
    });

    it("Vite builds a page, and serves it", async () => {
      const script = `
        "$1" "$2" build site --logLevel error && grep -l forty-two site/dist/assets/*.js
        exec "$1" --input-type=module -e '
          const { createServer } = await import(process.argv[1]);
          const options = { root: "site", logLevel: "error", server: { host: "127.0.0.1", port: 0 } };
          const server = await createServer(options);
          await server.listen();
          const { port } = server.httpServer.address();
          const page = await fetch("http://127.0.0.1:" + port + "/answer.js");
          console.log(await page.text());
          await server.close();' "$3"`;
      const module = join(root, "node_modules", "vite", "dist", "node", "index.js");
      const output = await outputOf(script, { args: [process.execPath, VITE, module] });
      assert.match(output, /^site\/dist\/assets\/.*\.js\nexport const answer = "forty-two";/);
    });

    const noPytest = PYTHON === undefined && "no Python with pytest is installed";
    it("pytest runs tests of multiprocessing", { skip: noPytest }, async () => {
      const script = '"$1" -m pytest -q -p no:cacheprovider test_pools.py';
      assert.match(await outputOf(script, { args: [PYTHON ?? ""] }), /\b2 passed\b/);
    });

    const noPostgres = POSTGRES === undefined && "Postgres is not installed";
    it("Postgres answers by a Unix socket and by TCP", { skip: noPostgres }, async () => {
      const script = `
        PATH="$1:$PATH"; directory="$(mktemp -d)"; cd "$directory"
        initdb -D data -A trust -U me --no-sync >/dev/null
        pg_ctl -D data -l log -w -o "-k '$directory' -h 127.0.0.1 -p 5433" start >/dev/null ||
          { cat log; exit 1; }
        for host in "$directory" 127.0.0.1; do
          psql -X -h "$host" -p 5433 -U me -Atc "select 6 * 7" postgres
        done
        pg_ctl -D data -m fast stop >/dev/null`;
      // Postgres refuses to run as root.
      const other = process.getuid?.() === 0 ? { user: "nobody" } : {};
      assert.equal(
        await outputOf(script, { args: [POSTGRES ?? ""], cwd: "/", ...other }),
        "42\n42\n",
      );
    });
  });
}
