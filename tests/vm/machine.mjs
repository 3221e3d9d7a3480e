// @ts-check
/** A virtual machine with a kernel of Debian's, the agent, bubblewrap and BusyBox. */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ask, mustRun } from "../../scripts/child-process.mjs";
import { agent, target } from "../../scripts/project.mjs";
import { RequirementMissing } from "../../scripts/setup/requirement.mjs";
import { cpio } from "./cpio.mjs";

const QEMU = "qemu-system-x86_64";
const folder = join(target, "vm");

/** Longer than all attempts take where the processor is emulated: what hangs fails. */
const TIMEOUT_MS = 20 * 60_000;

/** What it needs of this machine. */
export function findPrograms() {
  const qemu = ask(QEMU, ["--version"]);
  const bubblewrap = ask("sh", ["-c", "command -v bwrap"]);
  const busybox = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path));
  const isStatic = busybox !== undefined && ask("ldd", [busybox]) === undefined;
  if (
    process.arch !== "x64" ||
    qemu === undefined ||
    bubblewrap === undefined ||
    busybox === undefined ||
    !isStatic
  ) {
    throw new RequirementMissing(
      "This needs Debian on an x86-64 machine with QEMU, bubblewrap and a static BusyBox:\n\n" +
        "  sudo apt-get install qemu-system-x86 bubblewrap busybox-static\n",
    );
  }
  return { bubblewrap, busybox, qemu: qemu.split("\n")[0] ?? QEMU };
}

/** Debian's kernel for virtual machines: it is unpacked, not installed. */
export async function prepareKernel() {
  const boot = join(folder, "kernel", "boot");
  const name = () =>
    existsSync(boot) ? readdirSync(boot).find((file) => file.startsWith("vmlinuz-")) : undefined;
  if (name() === undefined) {
    const depends = ask("apt-cache", ["depends", "linux-image-cloud-amd64"]) ?? "";
    const [, image] = /Depends: (linux-image-\S+)/.exec(depends) ?? [];
    if (image === undefined) {
      throw new RequirementMissing(
        "apt knows no kernel for virtual machines (linux-image-cloud-amd64): sudo apt-get update",
      );
    }
    mkdirSync(folder, { recursive: true });
    const unpack = 'cd "$1" && apt-get download "$2" && dpkg -x "$2"_*.deb kernel';
    await mustRun("sh", ["-c", unpack, "sh", folder, image]);
  }
  const kernel = name();
  if (kernel === undefined) throw new Error(`there is no kernel in ${boot}`);
  return join(boot, kernel);
}

/**
 * Boots it, and has it run init.sh.
 *
 * @param {string} kernel
 * @param {{ bubblewrap: string, busybox: string }} programs
 * @param {(line: string) => void} onLine what its serial console shows
 */
export async function boot(kernel, { bubblewrap, busybox }, onLine) {
  const initramfs = join(folder, "initramfs.cpio");
  writeFileSync(initramfs, cpio(files(bubblewrap, busybox)));
  const args = [
    ...["-accel", "tcg", "-cpu", "max", "-m", "1024", "-smp", "2", "-nographic", "-no-reboot"],
    ...["-nodefaults", "-serial", "stdio", "-kernel", kernel, "-initrd", initramfs],
    ...["-append", "console=ttyS0 quiet panic=-1 rdinit=/init"],
  ];
  const child = spawn(QEMU, args, { stdio: ["ignore", "pipe", "inherit"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
  const stop = () => child.kill("SIGKILL");
  process.on("exit", stop);
  try {
    let rest = "";
    for await (const text of child.stdout.setEncoding("utf8")) {
      const lines = `${rest}${text}`.split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(line);
    }
  } finally {
    clearTimeout(timer);
    process.off("exit", stop);
    stop();
  }
}

/**
 * @param {string} bubblewrap
 * @param {string} busybox
 * @returns {import("./cpio.mjs").Entry[]}
 */
function files(bubblewrap, busybox) {
  const users = "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n";
  const programs = [
    ["init", readFileSync(new URL("init.sh", import.meta.url))],
    ["bin/busybox", readFileSync(busybox)],
    ["usr/bin/bwrap", readFileSync(bubblewrap)],
    ["usr/bin/sandpipe-agent", readFileSync(agent)],
    ["etc/passwd", Buffer.from(users)],
    ["etc/group", Buffer.from("root:x:0:\nuser:x:1000:\n")],
    ...libraries(bubblewrap).map((path) => [path.slice(1), readFileSync(path)]),
  ];
  const folders = new Set(["bin", "etc", "usr", "usr/bin"]);
  for (const [path] of programs) {
    const parents = [];
    for (let parent = dirname(String(path)); parent !== "."; parent = dirname(parent)) {
      parents.unshift(parent);
    }
    for (const parent of parents) folders.add(parent);
  }
  return [
    ...[...folders].map((path) => ({ path })),
    ...programs.map(([path, content]) => ({
      path: String(path),
      content: Buffer.from(/** @type {Buffer} */ (content)),
    })),
  ];
}

/** @param {string} program */
function libraries(program) {
  const listed = ask("ldd", [program]) ?? "";
  const paths = [...listed.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => String(path));
  return paths.filter((path) => basename(path).includes(".so"));
}
