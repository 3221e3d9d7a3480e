// @ts-check
import { existsSync } from "node:fs";
import { ask } from "../child-process.mjs";
import { installDebianPackages } from "./debian-packages.mjs";

/** What builds and runs containers, and the certificates that go into the image. */
export async function preparePodman() {
  const there = existsSync("/etc/ssl/certs/ca-certificates.crt");
  if (!there || ask("podman", ["--version"]) === undefined) {
    await installDebianPackages(["ca-certificates", "podman", "runc"], "podman");
  }
}
