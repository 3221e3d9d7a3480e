// @ts-check
/** What is needed of Debian's packages: each is known by a file of it, or by a program that other systems may have elsewhere. */

import { existsSync } from "node:fs";
import { ask, mustRun } from "../child-process.mjs";
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

/** What locales are generated with. */
export const prepareLocales = () => prepare({ "/usr/share/i18n/locales/de_DE": ["locales"] });

/** rustc links native programs with the C compiler. */
const C_LINKER = { cc: ["gcc", "libc6-dev"] };

export const hasCLinker = () => missingOf(C_LINKER).length === 0;

export const prepareCLinker = () => prepare(C_LINKER);

/** What runs programs for arm64 on other machines, for the tests of the agent's packages. */
export const prepareEmulator = () =>
  prepare(process.arch === "arm64" ? {} : { "/usr/bin/qemu-aarch64": ["qemu-user"] });

/** Whether bubblewrap is missing, and this user may install it. */
export const mayInstallBubblewrap = () =>
  missingOf({ bwrap: ["bubblewrap"] }).length > 0 &&
  process.getuid?.() === 0 &&
  ask("apt-get", ["--version"]) !== undefined;

/** What builds walls around commands. */
export const prepareBubblewrap = () => prepareIfAllowed({ bwrap: ["bubblewrap"] });

/** What the tests of programs of every day run under policies. */
export const prepareConfinedPrograms = () =>
  prepareIfAllowed({
    "/usr/lib/python3/dist-packages/pytest": ["python3-pytest"],
    "/usr/bin/pg_lsclusters": ["postgresql"],
  });

/** What programs that reach a host by the proxy of a sandbox are written with. */
export const prepareHttpLibraries = () =>
  prepareIfAllowed({
    "/usr/lib/python3/dist-packages/httpx": ["python3-httpx"],
    "/usr/lib/python3/dist-packages/requests": ["python3-requests"],
    curl: ["curl"],
    wget: ["wget"],
  });

/** What installs packages of Python for the whole machine. */
export const preparePip = () => prepare({ pip3: ["python3-pip"] });

/**
 * The same as {@link prepare} for a user who may install packages. Another one goes without: the tests that need them are skipped then.
 *
 * @param {Record<string, readonly string[]>} wanted
 */
async function prepareIfAllowed(wanted) {
  try {
    await prepare(wanted);
  } catch (error) {
    if (!(error instanceof RequirementMissing)) throw error;
    console.error(error.message);
  }
}

const PODMAN = { podman: ["podman", "runc"] };

/** What builds and runs containers, and the certificates that go into the image. */
export const preparePodman = () =>
  prepare({ "/etc/ssl/certs/ca-certificates.crt": ["ca-certificates"], ...PODMAN });

/** What the tests of images need. */
export const prepareImages = () => prepare({ ...PODMAN, "/usr/bin/busybox": ["busybox"] });

/** What the tests of other machines, shells and terminals need. */
export const prepareTargets = () =>
  prepare({
    "/usr/bin/ssh": ["openssh-client"],
    "/usr/sbin/sshd": ["openssh-server"],
    "/usr/bin/busybox": ["busybox"],
    "/usr/bin/less": ["less"],
    "/usr/bin/vi": ["vim-tiny"],
  });

/** Shells that `sandpipe completion` writes for. */
export const prepareShells = () =>
  prepareIfAllowed({ "/usr/bin/zsh": ["zsh"], "/usr/bin/fish": ["fish"] });

/**
 * Installs the packages of what is missing; a user without the right to do so is told how.
 *
 * @param {Record<string, readonly string[]>} wanted packages by a path or a program's name
 */
async function prepare(wanted) {
  const packages = missingOf(wanted);
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

/** @param {Record<string, readonly string[]>} wanted */
function missingOf(wanted) {
  const isThere = (/** @type {string} */ name) =>
    name.startsWith("/") ? existsSync(name) : ask(name, ["--version"]) !== undefined;
  return Object.entries(wanted).flatMap(([name, names]) => (isThere(name) ? [] : names));
}
