// @ts-check
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";

/** @type {Record<string, string> | undefined} */
let settings;

/**
 * npm's own settings, for programs that have another home directory: its cache, which makes the second run a
 * quick one, and the registry.
 */
export function npmSettings() {
  if (settings !== undefined) return settings;
  const get = (/** @type {string} */ key) =>
    execFileSync("npm", ["config", "get", key], {
      cwd: tmpdir(),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  const registry = get("registry");
  settings = {
    npm_config_cache: get("cache"),
    npm_config_userconfig: get("userconfig"),
    npm_config_registry: registry,
    npm_config_update_notifier: "false",
    YARN_NPM_REGISTRY_SERVER: registry.replace(/\/$/, ""),
  };
  return settings;
}
