// @ts-check
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { cp, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/installed-package.mjs";
import { marked, marker, until } from "../support/processes.mjs";
import { root } from "../../scripts/project.mjs";
import { npmSettings } from "./npm-settings.mjs";
import { installable } from "./packages.mjs";

const inside = fileURLToPath(new URL("inside/", import.meta.url));

/** What a server calls a file that ends so. */
const TYPES = new Map([
  [".html", "text/html"],
  [".js", "text/javascript"],
  [".mjs", "text/javascript"],
  [".cjs", "text/javascript"],
  [".wasm", "application/wasm"],
  [".json", "application/json"],
]);

/** The most that an error has of what a server printed. */
const MAX_OUTPUT_LENGTH = 4000;

/**
 * @typedef {object} ProgramOptions
 * @property {string} [cwd] below the application's folder
 * @property {Record<string, string>} [env] more environment variables
 */

/** A fresh application in a folder of its own, with the processes that it has started. */
export class Application {
  #mark = marker();
  /** @type {import("node:http").Server[]} */
  #servers = [];
  /** What the program that was started last has printed. */
  #output = () => "";

  /** @param {import("./row.mjs").RowContext} context */
  static async create(context) {
    const app = new Application(await temporaryFolder(), context);
    await mkdir(join(app.folder, "home"));
    await cp(inside, app.path, { recursive: true });
    await app.write({ "package.json": JSON.stringify({ private: true, type: "module" }) });
    return app;
  }

  /**
   * @param {string} folder
   * @param {import("./row.mjs").RowContext} context
   */
  constructor(folder, context) {
    this.folder = folder;
    /** Where the application is; beside it are the home directory and what was moved elsewhere. */
    this.path = join(folder, "app");
    this.context = context;
    this.agent = context.agent;
  }

  /** @param {Record<string, string>} files */
  async write(files) {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(this.path, path)), { recursive: true });
      await writeFile(join(this.path, path), text);
    }
  }

  /**
   * @param {Record<string, string>} packages names and versions
   * @param {{ bare: boolean }} options `bare`: without the package itself
   */
  async install(packages, { bare }) {
    const { tarballs, tools } = this.context;
    const registry = tools === "registry" ? packages : {};
    const wanted = [
      ...(bare ? [] : installable(tarballs)),
      ...Object.entries(registry).map(([name, version]) => `${name}@${version}`),
    ];
    const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    if (wanted.length > 0) {
      // The workspace has no package of the agent, and needs no registry.
      const how = tools === "workspace" ? ["--offline", "--omit=optional"] : ["--prefer-offline"];
      await this.run("npm", ["install", ...how, ...quiet, ...wanted]);
    }
    if (tools === "workspace") {
      for (const name of Object.keys(packages)) {
        const link = join(this.path, "node_modules", name);
        await mkdir(dirname(link), { recursive: true });
        await symlink(join(root, "node_modules", name), link);
      }
    }
  }

  /**
   * @param {string} name of an installed package
   * @returns {Promise<string>} its version
   */
  async version(name) {
    const file = join(this.path, "node_modules", name, "package.json");
    return JSON.parse(await readFile(file, "utf8")).version;
  }

  /**
   * @param {string} path in node_modules
   * @returns {string} where it is
   */
  module(path) {
    return join(this.path, "node_modules", path);
  }

  /**
   * Runs a program to its end, which has to be good.
   *
   * @param {string} program
   * @param {readonly string[]} args
   * @param {ProgramOptions} [options]
   * @returns {Promise<string>} its stdout
   */
  async run(program, args, options) {
    const child = this.#spawn(program, args, options);
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (text) => (stdout += text));
    child.stderr.on("data", (text) => (stderr += text));
    const [code, signal] = await once(child, "close");
    if (code === 0) return stdout;
    const output = `${stderr}\n${stdout}`.trim();
    throw new Error(`${program} ${args.join(" ")} ended with ${code ?? signal}: ${output}`);
  }

  /**
   * Runs a program that prints what the job found.
   *
   * @param {string} program
   * @param {readonly string[]} args
   * @param {ProgramOptions} [options]
   */
  async runJob(program, args, options) {
    return lastJson(await this.run(program, args, options));
  }

  /**
   * Starts a program that goes on, such as a server.
   *
   * @param {string} program
   * @param {readonly string[]} args
   * @param {RegExp} ready what it says when it is ready
   * @param {ProgramOptions} [options]
   * @returns {Promise<{ address: string }>} the first group that matched
   */
  async start(program, args, ready, options) {
    const child = this.#spawn(program, args, options);
    let output = "";
    this.#output = () => output;
    const address = await new Promise((resolve, reject) => {
      const collect = (/** @type {string} */ text) => {
        output += text;
        const match = ready.exec(output);
        if (match !== null) resolve(match[1] ?? match[0]);
      };
      child.stdout.on("data", collect);
      child.stderr.on("data", collect);
      child.once("error", reject);
      child.once("close", (code) => reject(new Error(`${program} ended with ${code}: ${output}`)));
    });
    return { address };
  }

  /**
   * @param {string} program
   * @param {readonly string[]} args
   * @param {ProgramOptions} [options]
   */
  #spawn(program, args, { cwd = "", env = {} } = {}) {
    const child = spawn(program, args, {
      cwd: join(this.path, cwd),
      env: { ...this.environment(), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.setEncoding("utf8");
    child.stderr.setEncoding("utf8");
    return child;
  }

  /** What its programs see: a home directory of its own, and none of what this process was started with. */
  environment() {
    const home = join(this.folder, "home");
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(npm_|NODE_(OPTIONS|ENV|PATH|TEST)|XDG_|SANDPIPE_|INIT_CWD)/.test(name),
    );
    return {
      ...Object.fromEntries(inherited),
      ...{ HOME: home, TMPDIR: home, CI: "true", NO_COLOR: "1" },
      ...{ NEXT_TELEMETRY_DISABLED: "1", WRANGLER_SEND_METRICS: "false" },
      ...{ YARN_ENABLE_TELEMETRY: "0", DENO_NO_UPDATE_CHECK: "1" },
      ...npmSettings(),
      ...{ COMPAT_URL: this.agent.url, COMPAT_TOKEN: this.agent.token },
      ...this.#mark,
    };
  }

  /**
   * Copies a built folder to where nothing of the application is found.
   *
   * @param {string} path
   * @returns {Promise<string>} where the copy is
   */
  async elsewhere(path) {
    const place = join(this.folder, "elsewhere", path);
    await rm(place, { recursive: true, force: true });
    await cp(join(this.path, path), place, { recursive: true, verbatimSymlinks: true });
    return place;
  }

  /**
   * Does something while the application's packages are not there: what it built may have kept where they were.
   *
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async withoutPackages(work) {
    const [packages, hidden] = [join(this.path, "node_modules"), join(this.folder, "hidden")];
    await rename(packages, hidden);
    try {
      return await work();
    } finally {
      await rename(hidden, packages);
    }
  }

  /**
   * Serves a folder as any web server does.
   *
   * @param {string} folder
   * @returns {Promise<string>} its address
   */
  async serve(folder) {
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://localhost");
      const path = normalize(pathname.endsWith("/") ? `${pathname}index.html` : pathname);
      const type = TYPES.get(extname(path)) ?? "application/octet-stream";
      createReadStream(join(folder, decodeURIComponent(path)))
        .once("open", () => response.writeHead(200, { "content-type": type }))
        .once("error", () => response.writeHead(404).end("not found"))
        .pipe(response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    this.#servers.push(server);
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    return `http://127.0.0.1:${port}/`;
  }

  /**
   * Opens a page in a browser.
   *
   * @param {string} address
   * @param {import("./browsers/visits.mjs").Browser} [browser]
   * @returns {Promise<unknown>} what the page's job found
   */
  visit(address, browser = "chromium") {
    return this.context.visits.visit(this, browser, address);
  }

  /**
   * Asks a server of the application to do the job.
   *
   * @param {string} address
   * @returns {Promise<unknown>} what it found
   */
  async ask(address) {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify(this.agent);
    const answer = await fetch(address, { method: "POST", headers, body });
    const text = await answer.text();
    if (answer.ok) return JSON.parse(text);
    const output = this.#output().trim().slice(-MAX_OUTPUT_LENGTH);
    throw new Error(`${address} answered ${answer.status}: ${output || text}`);
  }

  /** Ends all that it has started. */
  async stopProcesses() {
    for (const server of this.#servers.splice(0)) {
      server.close();
      server.closeAllConnections();
    }
    await until(() => {
      const left = marked(this.#mark);
      for (const pid of left) {
        try {
          process.kill(Number(pid), "SIGKILL");
        } catch {
          // It has ended meanwhile.
        }
      }
      return left.length === 0;
    });
  }

  async remove() {
    await this.stopProcesses();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * The job's answer is the last line of JSON, whatever else a program prints.
 *
 * @param {string} text
 */
export function lastJson(text) {
  const line = text.split("\n").findLast((line) => line.startsWith("{"));
  if (line === undefined) throw new Error(`it printed no answer: ${text.trim()}`);
  /** @type {unknown} */
  const answer = JSON.parse(line);
  return answer;
}
