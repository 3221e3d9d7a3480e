// @ts-check
import { existsSync } from "node:fs";
import { installDebianPackages } from "./debian-packages.mjs";

/** What the tests of other machines, shells and terminals need, and Debian's packages that have it. */
const PROGRAMS = new Map([
  ["/usr/bin/ssh", "openssh-client"],
  ["/usr/sbin/sshd", "openssh-server"],
  ["/usr/bin/busybox", "busybox"],
  ["/usr/bin/less", "less"],
  ["/usr/bin/vi", "vim-tiny"],
]);

/** Installs what is missing of it. */
export async function prepareTargets() {
  const missing = [...PROGRAMS].flatMap(([path, name]) => (existsSync(path) ? [] : [name]));
  if (missing.length > 0) await installDebianPackages(missing, missing.join(", "));
}
