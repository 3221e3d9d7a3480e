// @ts-check
// What the file tools do over every runtime.
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { it } from "node:test";

import { isSandpipeError } from "sandpipe";

import { failure } from "../support/script.mjs";
import { BUDGET } from "./subject.mjs";

/** @import { Subject } from "./subject.mjs" */

/** The message of a refused input. @param {Promise<unknown>} call */
async function refusal(call) {
  const error = await failure(call);
  assert.ok(isSandpipeError(error, "invalid_argument"), String(error));
  return error.message;
}

/** @param {Subject} subject */
export function testFiles(subject) {
  testReading(subject);
  testWriting(subject);
  testEditing(subject);
  testLists(subject);
}

/** In few scripts what the others have in many. @param {Subject} subject */
export function testFilesOnce(subject) {
  it("file tools write, edit, read and list", async () => {
    const path = join(subject.path(), "it's é");
    const content = "one\n$HOME `two`\n";
    await subject.call("file_write", { path, content });
    await subject.call("file_edit", { path, old_text: "`two`", new_text: "'2'\n3" });
    assert.equal(readFileSync(path, "utf8"), "one\n$HOME '2'\n3\n");
    const shown = await subject.call("file_read", { path, start_line: 2 });
    assert.match(shown, /\nlines: 2-3 of 3\n\n {5}2\t\$HOME '2'\n {5}3\t3\n$/);
    const listed = await subject.call("file_list", { path: dirname(path) });
    assert.match(listed, /\(1 entry\)\n\nit's é \(16 bytes\)\n$/);
    const none = subject.call("file_read", { path: `${path}.none` });
    assert.match(await refusal(none), /there is no/);
  });
}

/** @param {Subject} subject */
function testReading(subject) {
  it("file_read shows lines with their numbers, and where it goes on", async () => {
    const path = subject.path();
    writeFileSync(path, Array.from({ length: 100 }, (_, n) => `line é ${n + 1}\n`).join(""));
    const size = statSync(path).size;
    const some = { path, start_line: 9, end_line: 10 };
    assert.equal(
      await subject.call("file_read", some),
      `path: ${path} (${size} bytes)\nlines: 9-10 (there may be more: start_line 11)\n\n     9\tline é 9\n    10\tline é 10\n`,
    );
    const end = await subject.call("file_read", { path, start_line: 99 });
    assert.match(end, /\nlines: 99-100 of 100\n\n {4}99\tline é 99\n {3}100\tline é 100\n$/);

    // As many as there is room for; the next call goes on behind them.
    let next = 1;
    for (let calls = 0; calls < 10 && next <= 100; calls += 1) {
      const result = await subject.call("file_read", { path, start_line: next });
      const lines = result.slice(result.indexOf("\n\n") + 2);
      assert.ok(lines.length <= BUDGET, result);
      const shown = lines.trimEnd().split("\n");
      assert.deepEqual(
        shown.map((line) => line.trim()),
        shown.map((_, index) => `${next + index}\tline é ${next + index}`),
      );
      next += shown.length;
      if (next <= 100) assert.match(result, new RegExp(`start_line ${next}\\)`));
    }
    assert.equal(next, 101);
    const past = await refusal(subject.call("file_read", { path, start_line: 101 }));
    assert.match(past, /`start_line` .* is 101: it has 100$/);
    const turned = await refusal(subject.call("file_read", { path, start_line: 3, end_line: 2 }));
    assert.match(turned, /`end_line` must not be before `start_line`/);
  });

  it("file_read says what can't be seen: an empty file, line ends, a last line without one", async () => {
    const path = subject.path();
    for (const [content, expected] of /** @type {const} */ ([
      ["", /\(0 bytes\)\n\n\(the file is empty\)$/],
      ["a", /\nlines: 1-1 of 1\nthe last line has no line end\n\n {5}1\ta\n$/],
      ["a\r\nb\r\n", /\nline ends: CRLF\n/],
      ["a\r\nb\n", /\nline ends: CRLF and LF, mixed\n/],
      [Buffer.from("a long text with caf\xe9\n", "latin1"), /\nnot all of it is UTF-8/],
    ])) {
      writeFileSync(path, content);
      assert.match(await subject.call("file_read", { path }), expected);
    }
  });

  it("file_read says of a binary file how long it is, and shows nothing of it", async () => {
    const path = subject.path();
    for (const bytes of [Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1]), Buffer.alloc(3e6, 0xff)]) {
      writeFileSync(path, bytes);
      const result = await subject.call("file_read", { path });
      assert.match(result, new RegExp(`^path: .* \\(${bytes.length} bytes\\)\n\n\\(a binary file`));
    }
  });

  it("file_read finds lines far behind in a long file", async () => {
    const path = subject.path();
    const text = Array.from({ length: 400_000 }, (_, n) => `${n + 1}\n`).join("");
    assert.ok(text.length > 2e6);
    writeFileSync(path, text);
    const result = await subject.call("file_read", { path, start_line: 399_999 });
    assert.match(result, /\nlines: 399999-400000 of 400000\n\n399999\t399999\n400000\t400000\n$/);
  });

  it("file tools name what is not there, and what is no file", async () => {
    const path = subject.path();
    const input = { path, old_text: "a", new_text: "b" };
    for (const name of /** @type {const} */ (["file_read", "file_edit", "file_list"])) {
      const message = await refusal(subject.call(name, name === "file_edit" ? input : { path }));
      assert.ok(message.includes(path) && message.includes("there is no"), message);
    }
    mkdirSync(path);
    const message = await refusal(subject.call("file_read", { path }));
    assert.match(message, /is a directory: file_list/);
    const write = subject.call("file_write", { path, content: "" });
    assert.match(await refusal(write), /is a directory/);
    const special = subject.call("file_read", { path: "/dev/null" });
    assert.match(await refusal(special), /neither a file nor a directory/);
    writeFileSync(join(path, "file"), "");
    const list = subject.call("file_list", { path: join(path, "file") });
    assert.match(await refusal(list), /is no directory: file_read/);
  });
}

/** @param {Subject} subject */
function testWriting(subject) {
  it("file_write writes a whole file with the directories above it, and says what was there", async () => {
    const path = join(subject.path(), "new", "it's a 'file'\n.txt");
    const content = "é€😀 $HOME `x` \\n\r\n'quoted' \"so\"\n";
    const made = await subject.call("file_write", { path, content });
    assert.match(made, /\(a new file\)\nsize: \d+ bytes, 2 lines$/);
    assert.equal(readFileSync(path, "utf8"), content);
    chmodSync(path, 0o750);
    const replaced = await subject.call("file_write", { path, content: "short" });
    assert.match(replaced, new RegExp(`it had ${Buffer.byteLength(content)} bytes before`));
    assert.equal(readFileSync(path, "utf8"), "short");
    assert.equal(statSync(path).mode & 0o777, 0o750);
    await subject.call("file_write", { path, content: "" });
    assert.equal(readFileSync(path, "utf8"), "");
    // Nothing else is left beside it.
    assert.deepEqual(readdirSync(dirname(path)), ["it's a 'file'\n.txt"]);
  });

  it("file_write writes what a symbolic link leads to", async () => {
    const [target, link] = [subject.path(), subject.path()];
    writeFileSync(target, "old");
    symlinkSync(target, link);
    await subject.call("file_write", { path: link, content: "new" });
    assert.equal(readFileSync(target, "utf8"), "new");
  });

  it("file_write takes what is longer than a command line", async () => {
    const path = subject.path();
    const content = "0123456789abcde\n".repeat(40_000);
    await subject.call("file_write", { path, content });
    assert.equal(readFileSync(path, "utf8"), content);
  });

  it("file_write leaves nothing where it fails", async () => {
    const file = subject.path();
    writeFileSync(file, "kept");
    const error = await failure(
      subject.call("file_write", { path: join(file, "below"), content: "x" }),
    );
    assert.ok(error instanceof Error && error.message !== "");
    assert.equal(readFileSync(file, "utf8"), "kept");
  });
}

/** @param {Subject} subject */
function testEditing(subject) {
  it("file_edit replaces what is there once, and shows the lines around it", async () => {
    const path = subject.path();
    writeFileSync(path, "one\ntwo $& {\nthree\nfour\nfive\nsix\nseven\n", { mode: 0o640 });
    const input = { path, old_text: "two $& {\nthree", new_text: "2 $1\n2½\n3" };
    assert.equal(
      await subject.call("file_edit", input),
      `edited: ${path} (1 place, line 2)\n\n     1\tone\n     2\t2 $1\n     3\t2½\n     4\t3\n     5\tfour\n     6\tfive\n     7\tsix\n`,
    );
    assert.equal(readFileSync(path, "utf8"), "one\n2 $1\n2½\n3\nfour\nfive\nsix\nseven\n");
    assert.equal(statSync(path).mode & 0o777, 0o640);
    await subject.call("file_edit", { path, old_text: "2½\n", new_text: "" });
    assert.equal(readFileSync(path, "utf8"), "one\n2 $1\n3\nfour\nfive\nsix\nseven\n");
  });

  it("file_edit says how often and where a text is that is there more than once; replace_all replaces each", async () => {
    const path = subject.path();
    writeFileSync(path, "a = 1\nb = 2\na = 1\n");
    const input = { path, old_text: "a = 1", new_text: "a = 10" };
    const message = await refusal(subject.call("file_edit", input));
    assert.match(message, /once, but is there 2 times, in lines 1, 3\. .*`replace_all`$/);
    assert.equal(readFileSync(path, "utf8"), "a = 1\nb = 2\na = 1\n");
    const result = await subject.call("file_edit", { ...input, replace_all: true });
    assert.match(result, /^edited: .* \(2 places, lines 1, 3\)\n/);
    assert.equal(readFileSync(path, "utf8"), "a = 10\nb = 2\na = 10\n");
  });

  it("file_edit shows the nearest lines where a text is not there", async () => {
    const path = subject.path();
    writeFileSync(path, "function f(x) {\n\treturn x + 1;\n}\n");
    const wrong = { path, old_text: "function f(x) {\n  return x + 1;", new_text: "" };
    const spaces = await refusal(subject.call("file_edit", wrong));
    assert.match(spaces, /not in it\. .*nothing but white space differs, first in line 2:\n\n/);
    assert.match(spaces, / {5}1\tfunction f\(x\) \{\n {5}2\t\treturn x \+ 1;\n {5}3\t\}\n$/);
    const other = { path, old_text: "return x + 2;\n}", new_text: "" };
    const words = await refusal(subject.call("file_edit", other));
    assert.match(words, /in place of line 2, it has "return x \+ 2;":\n\n/);
    const nothing = { path, old_text: "qqqq zzzz", new_text: "" };
    assert.match(await refusal(subject.call("file_edit", nothing)), /nor anything like it/);
    const same = { path, old_text: "f", new_text: "f" };
    assert.match(await refusal(subject.call("file_edit", same)), /`new_text` must be another/);
  });

  it("file_edit keeps the line ends of a file, its mark, and what is not changed, byte for byte", async () => {
    const path = subject.path();
    writeFileSync(path, "\ufeffone\r\ntwo\r\nthree\r\n");
    await subject.call("file_edit", { path, old_text: "two\nthree\n", new_text: "2\n3\n4\n" });
    assert.equal(readFileSync(path, "utf8"), "\ufeffone\r\n2\r\n3\r\n4\r\n");
    const bytes = Buffer.from("caf\xe9 and more\n", "latin1");
    writeFileSync(path, bytes);
    const edit = subject.call("file_edit", { path, old_text: "and", new_text: "or" });
    assert.match(await refusal(edit), /is not UTF-8 text/);
    assert.deepEqual(readFileSync(path), bytes);
  });

  it("edits that come at once are all made", async () => {
    const path = subject.path();
    const numbers = Array.from({ length: 8 }, (_, n) => n);
    writeFileSync(path, numbers.map((n) => `<${n}>\n`).join(""));
    await Promise.all(
      numbers.map((n) => {
        return subject.call("file_edit", { path, old_text: `<${n}>`, new_text: `(${n})` });
      }),
    );
    assert.equal(readFileSync(path, "utf8"), numbers.map((n) => `(${n})\n`).join(""));
  });
}

/** @param {Subject} subject */
function testLists(subject) {
  it("file_list has what is in a directory, and below it, in order", async () => {
    const path = subject.path();
    mkdirSync(join(path, "b", "c"), { recursive: true });
    writeFileSync(join(path, "a file"), "12345");
    writeFileSync(join(path, "b", "c", "deep"), "");
    symlinkSync("a file", join(path, "link"));
    assert.equal(
      await subject.call("file_list", { path }),
      `path: ${path} (3 entries)\n\na file (5 bytes)\nb/\nlink -> a file\n`,
    );
    const deep = await subject.call("file_list", { path, depth: 3 });
    assert.equal(
      deep.split("\n\n")[1],
      "a file (5 bytes)\nb/\nb/c/\nb/c/deep (0 bytes)\nlink -> a file\n",
    );
    const empty = join(path, "empty");
    mkdirSync(empty);
    assert.match(await subject.call("file_list", { path: empty }), /\n\n\(nothing is in it\)$/);
  });

  it("file_list says how many there are besides those that there is room for", async () => {
    const path = subject.path();
    mkdirSync(path);
    const names = Array.from({ length: 100 }, (_, n) => `file-${String(n).padStart(3, "0")}`);
    for (const name of names) writeFileSync(join(path, name), "");
    const result = await subject.call("file_list", { path });
    const lines = (result.split("\n\n")[1] ?? "").trimEnd().split("\n");
    assert.ok(result.length <= BUDGET + 200, result);
    const shown = lines.slice(0, -1);
    assert.deepEqual(
      shown,
      names.slice(0, shown.length).map((name) => `${name} (0 bytes)`),
    );
    assert.match(lines.at(-1) ?? "", new RegExp(`^… and ${100 - shown.length} more`));
  });

  it("file_list takes the directory of commands where none is named", async () => {
    const pwd = (await subject.bash("pwd")).split("\n\n")[1]?.trim() ?? "";
    assert.ok(existsSync(pwd));
    const result = await subject.call("file_list", {});
    assert.ok(result.startsWith(`path: ${pwd}`), result.slice(0, 200));
  });
}
