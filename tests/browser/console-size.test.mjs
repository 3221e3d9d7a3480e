// @ts-check
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { root } from "../../scripts/project.mjs";

/** Of what a browser downloads besides the core, in bytes. */
const MAX_GZIP = 250_000;

test("what a browser downloads of the console is small, and has no address but the agent's own", () => {
  const folder = join(root, "console", "dist", "assets");
  let size = 0;
  for (const name of readdirSync(folder).filter((name) => !name.endsWith(".wasm.gz"))) {
    const content = readFileSync(join(folder, name));
    size += content.length;
    if (!name.endsWith(".css.gz")) continue;
    const elsewhere = gunzipSync(content)
      .toString()
      .match(/url\(["']?(?:https?:)?\/\/[^)]*/g);
    assert.equal(elsewhere, null, name);
  }
  assert.ok(size < MAX_GZIP, `${size} bytes by gzip`);
});
