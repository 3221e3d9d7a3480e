// @ts-check
/** podman with settings of its own, and a small image in it. */

import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Why tests that need podman are skipped; false where it is there and works for this user. */
export const noPodman = whyNoPodman();

function whyNoPodman() {
  if (spawnSync("podman", ["--version"]).status !== 0) return "there is no podman on this machine";
  const hasUserIds = process.geteuid?.() === 0 || !spawnSync("newuidmap").error;
  return hasUserIds ? false : "podman needs newuidmap (package uidmap) for an ordinary user";
}

const BUSYBOX = "/bin/busybox";

/** The same for tests that need the small image. */
export const noSmallImage = noPodman || (existsSync(BUSYBOX) ? false : `there is no ${BUSYBOX}`);

/** Why tests of limits on containers are skipped; false where this user's podman can hold them. */
export const noLimits =
  noSmallImage ||
  (process.geteuid?.() === 0 || existsSync("/sys/fs/cgroup/cgroup.controllers")
    ? false
    : "podman without root needs cgroups of version 2 for limits");

/** The small image: busybox, and nothing else. */
export const IMAGE = "localhost/sandpipe-test-busybox";

/**
 * The environment of a podman whose images and containers are in a folder. It works without systemd and in a container, and
 * nothing is left behind.
 *
 * @param {string} folder
 * @returns {Promise<NodeJS.ProcessEnv>} beside the environment of this process
 */
export async function podmanSettings(folder) {
  const [engine, storage] = [join(folder, "containers.conf"), join(folder, "storage.conf")];
  const hasRunc = spawnSync("runc", ["--version"]).status === 0;
  await writeFile(
    engine,
    `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
${hasRunc ? 'runtime = "runc"' : ""}
`,
  );
  const [graph, run] = [join(folder, "graph"), join(folder, "run")];
  await writeFile(
    storage,
    `[storage]\ndriver = "vfs"\ngraphroot = "${graph}"\nrunroot = "${run}"\nrootless_storage_path = "${graph}"\n`,
  );
  // Where podman without root keeps what it runs with.
  const runtime = join(folder, "runtime");
  await mkdir(runtime, { mode: 0o700 });
  return {
    ...{ CONTAINERS_CONF: engine, CONTAINERS_STORAGE_CONF: storage, XDG_RUNTIME_DIR: runtime },
    // Another machine's podman has storage of its own.
    ...{ CONTAINER_HOST: undefined, CONTAINER_CONNECTION: undefined },
  };
}

/** Removes a folder with images and containers: without root, some of its files are other users'. */
export async function removePodmanFolder(/** @type {string} */ folder, env = process.env) {
  const graph = join(folder, "graph");
  if (process.geteuid?.() !== 0) await execute("podman", ["unshare", "rm", "-rf", graph], { env });
  await rm(folder, { recursive: true, force: true });
}

/** Sets podman up for this process and what it starts, with the small image. */
export async function setUpPodman() {
  // podman takes no longer path than some 50 characters for what it runs with.
  const folder = await mkdtemp(join(tmpdir(), "pod-"));
  const settings = await podmanSettings(folder);
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  /** @param {string[]} args */
  const podman = async (...args) => (await execute("podman", args)).stdout.trim();
  const root = join(folder, "root");
  await makeRoot(root);
  const archive = join(folder, "root.tar");
  // The image's files are root's, whoever makes it.
  await execute("tar", ["-C", root, "--owner=0", "--group=0", "-cf", archive, "."]);
  await podman("import", archive, IMAGE);
  return {
    podman,

    /** Makes the small image for another processor. @param {string} architecture */
    async importFor(architecture) {
      const name = `${IMAGE}-${architecture}`;
      await podman("import", "--arch", architecture, archive, name);
      return name;
    },

    /** The names of the containers that there are. */
    async containers() {
      const names = await podman("ps", "--all", "--format", "{{.Names}}");
      return names.split("\n").filter((name) => name !== "");
    },

    async remove() {
      await podman("rm", "--all", "--force", "--time", "0");
      await removePodmanFolder(folder);
    },
  };
}

/** @param {string} root */
async function makeRoot(root) {
  for (const name of ["bin", "etc", "root"]) await mkdir(join(root, name), { recursive: true });
  await mkdir(join(root, "tmp"));
  await copyFile(BUSYBOX, join(root, "bin", "busybox"));
  // Debian has one that is static, and one that needs the C library. ldd fails at the former.
  const { stdout } = await execute("ldd", [BUSYBOX]).catch(() => ({ stdout: "" }));
  for (const [, library] of stdout.matchAll(/(\/\S+) \(0x/g)) {
    if (library === undefined) continue;
    await mkdir(dirname(join(root, library)), { recursive: true });
    await copyFile(library, join(root, library));
  }
  const { stdout: programs } = await execute(BUSYBOX, ["--list"]);
  for (const name of programs.trim().split("\n")) {
    if (name !== "busybox") await symlink("busybox", join(root, "bin", name));
  }
  const passwd = join(root, "etc", "passwd");
  await writeFile(passwd, "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n");
  // What is made is subject to the umask.
  await execute("chmod", ["-R", "a+rX", root]);
  await chmod(join(root, "tmp"), 0o1777);
}
