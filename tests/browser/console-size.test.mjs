// @ts-check
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { root } from "../../scripts/project.mjs";

/** Of what a browser downloads besides the core, in bytes. */
const MAX_GZIP = 250_000;

/** Of that, what it downloads before the page shows anything. */
const MAX_FIRST_GZIP = 120_000;

const dist = join(root, "console", "dist");

test("what a browser downloads of the console is small, and has no address but the agent's own", () => {
  const folder = join(dist, "assets");
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

test("what is downloaded before the first view is half of that: the terminal is not in it", () => {
  const page = gunzipSync(readFileSync(join(dist, "index.html.gz"))).toString();
  const names = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => String(name));
  assert.ok(
    names.some((name) => name.endsWith(".js")) && names.some((name) => name.endsWith(".css")),
  );
  const sizes = names.map((name) => readFileSync(join(dist, `${name}.gz`)).length);
  const size = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(size < MAX_FIRST_GZIP, `${size} bytes by gzip: ${names.join(", ")}`);
});
