// @ts-check
/** What is needed of Debian's packages: each is known by a file of it, or by a program that other systems may have elsewhere. */

import { existsSync } from "node:fs";
import { ask, mustRun } from "../child-process.mjs";
import { explanation } from "../command.mjs";
import { step } from "../progress.mjs";
import { RequirementMissing } from "./requirement.mjs";

export const chromium = "/usr/bin/chromium";
export const chromedriver = "/usr/bin/chromedriver";

/** Their versions have to match. */
const CHROMIUM = { [chromium]: ["chromium"], [chromedriver]: ["chromium-driver"] };

export const prepareChromium = () => prepare(CHROMIUM);

export const firefox = "/usr/bin/firefox-esr";

const FIREFOX = { [firefox]: ["firefox-esr"] };

/** What the tests of the console open it in. */
export const prepareConsoleBrowsers = () => prepare({ ...CHROMIUM, ...FIREFOX });

/** What `npm run compat` opens pages in, with a display that nobody sees. */
export const prepareBrowsers = () =>
  prepare({
    ...CHROMIUM,
    ...FIREFOX,
    "/usr/bin/WebKitWebDriver": ["webkit2gtk-driver"],
    "/usr/bin/Xvfb": ["xvfb"],
  });

/** rustc links native programs with the C compiler. */
export const prepareCLinker = () => prepare({ cc: ["gcc", "libc6-dev"] });

/** What runs programs for arm64 on other machines, for the tests of the agent's packages. */
export const prepareEmulator = () =>
  prepare(process.arch === "arm64" ? {} : { "/usr/bin/qemu-aarch64": ["qemu-user"] });

/** What builds walls around commands. A user who may not install it goes without: the tests that need it are skipped then. */
export async function prepareBubblewrap() {
  try {
    await prepare({ bwrap: ["bubblewrap"] });
  } catch (error) {
    if (!(error instanceof RequirementMissing)) throw error;
    console.error(error.message);
  }
}

const PODMAN = { podman: ["podman", "runc"] };

/** What builds and runs containers, and the certificates that go into the image. */
export const preparePodman = () =>
  prepare({ "/etc/ssl/certs/ca-certificates.crt": ["ca-certificates"], ...PODMAN });

/** What the tests of images need. Where it can't be had they are skipped. */
export async function prepareImages() {
  try {
    await prepare({ ...PODMAN, "/usr/bin/busybox": ["busybox"] });
  } catch (error) {
    console.error(`Tests with containers are skipped. ${explanation(error)}`);
  }
}

/** What the tests of other machines, shells and terminals need. */
export const prepareTargets = () =>
  prepare({
    "/usr/bin/ssh": ["openssh-client"],
    "/usr/sbin/sshd": ["openssh-server"],
    "/usr/bin/busybox": ["busybox"],
    "/usr/bin/less": ["less"],
    "/usr/bin/vi": ["vim-tiny"],
  });

/**
 * Installs the packages of what is missing; a user without the right to do so is told how.
 *
 * @param {Record<string, readonly string[]>} wanted packages by a path or a program's name
 */
async function prepare(wanted) {
  const isThere = (/** @type {string} */ name) =>
    name.startsWith("/") ? existsSync(name) : ask(name, ["--version"]) !== undefined;
  const packages = Object.entries(wanted).flatMap(([name, names]) => (isThere(name) ? [] : names));
  if (packages.length === 0) return;
  const names = packages.join(" ");
  if (process.getuid?.() !== 0) {
    throw new RequirementMissing(
      `Packages are missing: ${names}. On Debian:\n\n  sudo apt-get install ${names}\n`,
    );
  }
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await step(names, async () => {
    await mustRun("apt-get", ["update"], { env });
    await mustRun("apt-get", ["install", "--yes", "--no-install-recommends", ...packages], { env });
  });
}
