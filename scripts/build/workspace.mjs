// @ts-check
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../project.mjs";

/** What stands for the owner in the repository's address until there is one. */
export const PLACEHOLDER = "OWNER";

/** What Cargo.toml says of the whole workspace; `slug` is the repository's `OWNER/NAME`. */
export function workspace() {
  const manifest = readFileSync(join(root, "Cargo.toml"), "utf8");
  const table = /^\[workspace\.package\]\n(?:(?!\[).*\n)*/m.exec(manifest)?.[0] ?? "";
  const field = (/** @type {string} */ name) => {
    const value = new RegExp(`^${name} = "(.+)"$`, "m").exec(table)?.[1];
    if (value === undefined) throw new Error(`Cargo.toml names no ${name} of the workspace`);
    return value;
  };
  const repository = field("repository");
  const slug = /^https:\/\/github\.com\/([^/]+\/[^/]+)$/.exec(repository)?.[1];
  if (slug === undefined) {
    throw new Error(`Cargo.toml: ${repository} is not like https://github.com/OWNER/NAME`);
  }
  return { version: field("version"), repository, slug };
}

/**
 * The name of `sandpipe mcp` in the MCP registry, where a repository's owner may publish below its own.
 *
 * @param {string} slug
 */
export function mcpName(slug) {
  return `io.github.${slug}`;
}
