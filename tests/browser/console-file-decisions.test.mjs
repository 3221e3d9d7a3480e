// @ts-check
/** What the console decides of files and ports apart from the page. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./console-modules.mjs";

test("a path stands in an address as the agent would write it, whatever is in it", async () => {
  const { routeOf, hashOf } = await load("route.ts");
  const { rawOf, shownPath, shownName } = await load("files/raw-path.ts");
  const path = "/a b/ü/100%/it's (1)*!/?#&";
  const raw = "/a%20b/%C3%BC/100%25/it%27s%20%281%29%2A%21/%3F%23%26";
  assert.equal(rawOf(path), raw);
  assert.equal(shownPath(raw), path);
  assert.equal(hashOf({ page: "files", id: raw }), `#/files${raw}`);
  // As it is, as a browser leaves it, and with a slash at the end.
  for (const hash of [`#/files${raw}`, "#/files/a%20b/ü/100%25/it's%20(1)*!/%3F%23&/"]) {
    assert.deepEqual(routeOf(hash), { page: "files", id: raw }, hash);
  }
  assert.deepEqual(routeOf("#/files"), { page: "files" });
  assert.deepEqual(routeOf("#/files/"), { page: "files", id: "/" });
  // Bytes that are no UTF-8 stay, and are shown as what they are not.
  assert.deepEqual(routeOf("#/files/n%FFme"), { page: "files", id: "/n%FFme" });
  assert.equal(shownName("/n%FFme"), "n\ufffdme");
  assert.deepEqual(routeOf("#/runs/a%2Fb"), { page: "runs", id: "a/b" });
});

test("the tree begins where all of it is in sight", async () => {
  const { above, common, isWithin, parentOf, within } = await load("files/raw-path.ts");
  assert.deepEqual(above("/a/b/c"), ["/", "/a", "/a/b"]);
  assert.deepEqual(above("/"), []);
  assert.equal(common("/work/app", "/work/app/src/x"), "/work/app");
  assert.equal(common("/work/app", "/work/application"), "/work");
  assert.equal(common("/work/app", "/etc/hosts"), "/");
  assert.equal(isWithin("/ab", "/a"), false);
  assert.equal(isWithin("/ab", "/"), true);
  assert.deepEqual([parentOf("/a/b"), parentOf("/a"), parentOf("/")], ["/a", "/", "/"]);
  assert.deepEqual([within("/", "a b"), within("/a", "b/c")], ["/a%20b", "/a/b/c"]);
});

test("the rows of the tree are those of expanded directories, each behind its own", async () => {
  const { inOrder, rowsOf } = await load("files/rows.ts");
  const file = (/** @type {string} */ path, isDir = false) => ({
    ...{ name: path.split("/").at(-1), path, isDir },
    ...{ size: 0, modTime: "" },
  });
  const files = inOrder([file("/w/a"), file("/w/d", true), file("/w/e", true)]);
  const listings = new Map([
    ["/w", { files, isLoading: false }],
    ["/w/d", { files: [file("/w/d/x")], isLoading: false }],
  ]);
  const rows = rowsOf("/w", listings, new Set(["/w/d", "/w/e"]));
  assert.deepEqual(
    rows.map((/** @type {any} */ { raw, level, position, count, note }) => [
      ...[raw, level, position, count],
      note?.text,
    ]),
    [
      ["/w/d", 1, 1, 3, undefined],
      ["/w/d/x", 2, 1, 1, undefined],
      ["/w/e", 1, 2, 3, undefined],
      ["/w/e/?", 2, 1, 1, "loading"],
      ["/w/a", 1, 3, 3, undefined],
    ],
  );
  const error = new Error("no");
  const failed = rowsOf("/w", new Map([["/w", { files, isLoading: false, error }]]), new Set());
  assert.deepEqual(failed[0].note, { error });
});

test("of many files that come into a directory it is read once more after the read that is under way", async () => {
  const { FileTree } = await load("files/file-tree.ts");
  globalThis.sessionStorage ??= /** @type {any} */ ({ getItem: () => null, setItem: () => {} });
  /** @type {string[]} */
  const reads = [];
  /** @type {Record<string, string[]>} */
  const names = { "/w": [], "/w/new": [] };
  let underWay = 0;
  const tree = new FileTree({
    list: async (/** @type {{ raw: string }} */ { raw }) => {
      reads.push(raw);
      const listed = (names[raw] ?? assert.fail(raw)).map((name) => ({
        ...{ name, path: `${raw}/${name}`, isDir: name === "new", size: 0, modTime: "" },
      }));
      assert.equal(++underWay, 1);
      // Others go on meanwhile.
      await new Promise(setImmediate);
      underWay--;
      return listed;
    },
  });
  const listed = (/** @type {string} */ raw) =>
    tree.listings.value.get(raw)?.files.map((/** @type {{ name: string }} */ { name }) => name);
  const first = tree.read("/w");
  names["/w"] = ["x"];
  await Promise.all([first, ...Array.from({ length: 100 }, () => tree.readFor("/w/x"))]);
  assert.deepEqual(reads.splice(0), ["/w", "/w"]);
  assert.deepEqual(listed("/w"), ["x"]);
  // Nothing is left of those.
  await tree.readFor("/w/x");
  assert.deepEqual(reads.splice(0), ["/w"]);

  // A file further down shows up by the directory that is new, once that is there it is no news.
  names["/w"] = ["x", "new"];
  await tree.readFor("/w/new/deep/file");
  assert.deepEqual(listed("/w"), ["new", "x"]);
  await tree.readFor("/w/new/deep/other");
  assert.deepEqual(reads.splice(0), ["/w"]);
  await tree.read("/w/new");
  names["/w/new"] = ["file"];
  await tree.readFor("/w/new/file");
  assert.deepEqual(reads.splice(0), ["/w/new", "/w/new"]);
  assert.deepEqual(listed("/w/new"), ["file"]);
  await tree.readFor("/elsewhere/file");
  assert.deepEqual(reads, []);
});

test("text is told from what is none, also where a character is cut", async () => {
  const { MAX_TEXT, pictureType, textPreview } = await load("files/preview.ts");
  const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text);
  assert.deepEqual(textPreview(bytes("")), { kind: "empty" });
  assert.deepEqual(textPreview(bytes("é")), { kind: "text", text: "é", isAll: true });
  assert.deepEqual(textPreview(bytes("a\0b")), { kind: "binary", large: false });
  assert.deepEqual(textPreview(new Uint8Array([0xc3])), { kind: "binary", large: false });
  const long = textPreview(bytes(`a${"é".repeat(MAX_TEXT)}`).subarray(0, MAX_TEXT + 1));
  assert.equal(long.kind, "text");
  assert.equal(long.isAll, false);
  assert.equal(long.text.length, MAX_TEXT / 2);
  assert.equal(pictureType(bytes("<svg>")), undefined);
  assert.equal(pictureType(new Uint8Array([0xff, 0xd8, 0xff, 0xe0])), "image/jpeg");
});

test("sizes are in the largest unit, of three digits or a fraction", async () => {
  const { sizeText } = await load("files/size-text.ts");
  assert.deepEqual([0, 1, 999, 1000, 99_949, 99_950, 999_499, 999_500, 2e12].map(sizeText), [
    ...["0 bytes", "1 byte", "999 bytes", "1.0 kB", "99.9 kB", "100 kB", "999 kB", "1.0 MB"],
    "2.0 TB",
  ]);
});

test("whether a forward reaches a socket, and by which command", async () => {
  const { forwardCommand, isForwardable, reachOf, socketText } = await load("ports/reach.ts");
  for (const [address, reach, forwardable] of [
    ["127.0.0.1", "loopback", true],
    ["::1", "loopback", true],
    ["127.0.0.2", "loopback", false],
    ["0.0.0.0", "everybody", true],
    ["::", "everybody", true],
    ["10.0.0.5", "one address", false],
  ]) {
    assert.equal(reachOf(address), reach, String(address));
    assert.equal(isForwardable(address), forwardable, String(address));
  }
  assert.equal(
    forwardCommand(80, "http://agent.example:57468/it's"),
    `sandpipe forward --url 'http://agent.example:57468/it'\\''s' 80`,
  );
  assert.equal(socketText({ address: "::1", port: 80 }), "[::1]:80");
});
