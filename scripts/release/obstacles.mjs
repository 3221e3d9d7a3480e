// @ts-check

/**
 * Why this can't be published, a line each.
 *
 * @param {{ version: string, slug: string, placeholder: string, changelog: string, readme: string, tag: string }} release
 * `slug`: the repository's `OWNER/NAME`; `tag`: what is released, as git knows it
 */
export function obstacles({ version, slug, placeholder, changelog, readme, tag }) {
  const lines = [];
  if (slug.split("/").includes(placeholder)) {
    lines.push(`Cargo.toml: the repository's address still has ${placeholder} in it.`);
  }
  if (tag !== `v${version}`) {
    lines.push(`The tag is ${tag}, but Cargo.toml has the version ${version}: v${version}.`);
  }
  if (!changelog.split("\n").some((line) => line.startsWith(`## ${version} `))) {
    lines.push(`CHANGELOG.md has no section "## ${version} (DATE)".`);
  }
  if (readme.includes("No version is on npm yet")) {
    lines.push('README.md says "No version is on npm yet": that is about to be wrong.');
  }
  return lines;
}
