// @ts-check
/**
 * The suites. A new one is an entry here: what it needs of the machine, what has to be built for it, and its jobs, each
 * with its lane and its inputs. Nothing else has to know of it.
 */

import { relative } from "node:path";
import { agent, root } from "../project.mjs";
import {
  prepareChromium,
  prepareConfinedPrograms,
  prepareConsoleBrowsers,
  prepareEmulator,
  prepareImages,
  prepareShells,
  prepareTargets,
} from "../setup/debian-packages.mjs";
import { prepareGeckodriver } from "../setup/geckodriver.mjs";
import { preparePackageManagers } from "../setup/package-managers.mjs";
import { cargoJobs } from "./cargo.mjs";
import { lintJobs } from "./lint.mjs";
import { nodeJobs } from "./node.mjs";
import { packagingJobs } from "./packaging.mjs";
import { wasmJobs } from "./wasm.mjs";

/** @import { Job } from "./job.mjs" */
/** @import { Need } from "./needs.mjs" */

/**
 * @typedef {object} Suite
 * @property {string} name
 * @property {boolean} [isOnlyNamed] it runs when it is named, not with all
 * @property {readonly string[]} builds the steps of package.json that have to be done before
 * @property {readonly Need[]} needs
 * @property {(texts: readonly string[]) => Job[]} jobs `texts`: only what has one of them in its name; none: everything
 */

const NEEDS = {
  targets: { name: "OpenSSH, busybox, less and vi", prepare: prepareTargets },
  shells: { name: "zsh and fish", prepare: prepareShells },
  podman: { name: "podman and busybox", prepare: prepareImages },
  chromium: { name: "Chromium", prepare: prepareChromium },
  browsers: { name: "Chromium and Firefox", prepare: prepareConsoleBrowsers },
  programs: { name: "pytest and Postgres", prepare: prepareConfinedPrograms },
  packages: { name: "pnpm, Bun, uv and Poetry", prepare: preparePackageManagers },
  emulator: { name: "qemu-user", prepare: prepareEmulator },
  geckodriver: { name: "geckodriver", prepare: prepareGeckodriver },
};

const ALL = ["build:this-platform"];
const WITH_WASM_TOOLS = [...ALL, "build:wasm-tools"];

/** What every test in JavaScript depends on: the package, the agent that it starts, and what tests share. */
const USED = [
  ...["dist", relative(root, agent), "tests/support", "scripts", "package.json"],
  ...["package-lock.json", "webdriver.json", "docs"],
];
/** The program `sandpipe`: a change of it alone leaves the tests of the library as they are. */
const PROGRAM = ["dist/cli", "dist/mcp"];
const LIBRARY = [...USED, ...PROGRAM.map((path) => `!${path}`)];

/** What packages, image and release are made of beside that, and what their tests share with others. */
const PACKED = [
  ...["crates", "Cargo.lock", "Cargo.toml", ".cargo", ".github", ".npmrc", "Containerfile"],
  ...["CHANGELOG.md", "README.md", "tests/packaging", "tests/compat", "tests/edge"],
];

/** @type {Suite[]} */
export const SUITES = [
  { name: "cargo", builds: [], needs: [NEEDS.packages], jobs: cargoJobs },
  {
    name: "packaging",
    builds: WITH_WASM_TOOLS,
    needs: [NEEDS.chromium, NEEDS.emulator],
    jobs: (texts) => packagingJobs([...USED, ...PACKED], texts),
  },
  { name: "lint", builds: ["build:package"], needs: [], jobs: lintJobs },
  wasmSuite("node", []),
  wasmSuite("chrome", [NEEDS.chromium]),
  { ...wasmSuite("firefox", [NEEDS.geckodriver]), isOnlyNamed: true },
  nodeSuite("browser", [NEEDS.browsers], [...LIBRARY, "console", "tsconfig.base.json"], {
    lane: "processor",
  }),
  nodeSuite("node", [NEEDS.targets, NEEDS.programs], [...LIBRARY, "src", "tests/background"]),
  nodeSuite("background", [NEEDS.targets], LIBRARY),
  nodeSuite("tools", [NEEDS.targets], [...LIBRARY, "tests/background"]),
  nodeSuite("cli", [NEEDS.targets, NEEDS.shells], USED),
  nodeSuite("images", [NEEDS.podman], LIBRARY),
  nodeSuite("faults", [], LIBRARY),
  nodeSuite("edge", [], LIBRARY),
  { ...nodeSuite("runner", [], ["scripts", "tests/support", ".ci", ".github"]), builds: [] },
];

/**
 * The files of a folder of tests/, for Node's test runner.
 *
 * @param {string} name
 * @param {readonly Need[]} needs
 * @param {readonly string[]} inputs beside the folder
 * @param {{ lane?: "processor" | "waiting" }} [options]
 * @returns {Suite}
 */
function nodeSuite(name, needs, inputs, { lane = "waiting" } = {}) {
  const options = { lane, inputs: [...inputs, `tests/${name}`], programInputs: PROGRAM };
  return { name, builds: ALL, needs, jobs: (texts) => nodeJobs(name, options, texts) };
}

/**
 * @param {"node" | "chrome" | "firefox"} engine
 * @param {readonly Need[]} needs
 * @returns {Suite}
 */
function wasmSuite(engine, needs) {
  const inputs = [
    ...["Cargo.lock", "Cargo.toml", "src", "crates/client", "crates/protocol", "crates/text"],
    ...["tests/wasm", "webdriver.json", relative(root, agent), "scripts/suites/wasm.mjs"],
    ...["build.rs", ".cargo", "tests/support", "dist/node"],
  ];
  const jobs = () => wasmJobs(engine, inputs);
  return { name: `wasm-${engine}`, builds: WITH_WASM_TOOLS, needs, jobs };
}
