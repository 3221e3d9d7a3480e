// @ts-check
// How output is read.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe } from "node:test";

import { LONG_MS } from "./subject.mjs";

/** @import { Tests } from "../../support/matrix.mjs" */
/** @import { Subject } from "./subject.mjs" */

/** @param {Subject} subject @param {Tests} tests */
export function testReadOutput(subject, { shellContract, contract }) {
  describe("readOutput", () => {
    contract("goes on where it was", async () => {
      const { id } = await subject.ending("echo one; echo two; echo oops >&2");
      const first = await subject.processes.readOutput(id, { stream: "stdout", maxBytes: 5 });
      assert.deepEqual(first, { output: "one\nt", nextOffset: 5, status: "exited", exitCode: 0 });
      const rest = { output: "wo\n", nextOffset: 8, status: "exited", exitCode: 0 };
      const options = /** @type {const} */ ({ stream: "stdout", offset: 5 });
      assert.deepEqual(await subject.processes.readOutput(id, options), rest);
      const end = await subject.processes.readOutput(id, { stream: "stdout", offset: 8 });
      assert.deepEqual([end.output, end.nextOffset], ["", 8]);
      assert.equal(await subject.text(id, { stream: "stderr" }), "oops\n");
      assert.equal(await subject.text(id), "one\ntwo\noops\n");
      assert.equal(await subject.text(id, { stream: "stdout", tailBytes: 4 }), "two\n");
      assert.equal(await subject.text(id, { stream: "stdout", tailBytes: 0 }), "");
      assert.equal(await subject.text(id, { tailBytes: 1000 }), "one\ntwo\noops\n");
    });

    shellContract("splits no character", async () => {
      const whole = "aé€😀".repeat(4);
      const { id } = await subject.ending(`printf %s '${whole}'; printf %s '${whole}' >&2`);
      for (const stream of /** @type {const} */ (["stdout", "both"])) {
        for (const maxBytes of [4, 6, 11]) {
          let offset = 0;
          let read = "";
          for (;;) {
            const piece = await subject.processes.readOutput(id, { stream, offset, maxBytes });
            if (piece.output === "") break;
            const length = Buffer.byteLength(piece.output);
            assert.ok(length <= maxBytes && !piece.output.includes("\ufffd"), piece.output);
            assert.equal(piece.nextOffset, offset + length);
            offset = piece.nextOffset;
            read += piece.output;
          }
          assert.equal(read, stream === "both" ? whole + whole : whole);
        }
      }
      assert.equal(await subject.text(id, { stream: "stdout", tailBytes: 6 }), "😀");
    });

    contract(
      "holds back a character that is not there yet, and gives what never comes",
      async () => {
        const [go, end] = [subject.path(), subject.path()];
        const { id } = await subject.processes.spawn(
          `printf 'a\\342\\202'; until [ -e '${go}' ]; do sleep 0.02; done
          printf '\\254\\303'; until [ -e '${end}' ]; do sleep 0.02; done`,
        );
        const first = await subject.processes.readOutput(id, { waitMs: LONG_MS });
        assert.deepEqual([first.output, first.nextOffset], ["a", 1]);
        writeFileSync(go, "");
        const second = await subject.processes.readOutput(id, { offset: 1, waitMs: LONG_MS });
        assert.deepEqual([second.output, second.nextOffset], ["€", 4]);
        writeFileSync(end, "");
        await subject.processes.wait(id);
        const last = await subject.processes.readOutput(id, { offset: 4 });
        assert.deepEqual([last.output, last.nextOffset], ["\ufffd", 5]);
      },
    );

    shellContract("gives both streams in one order, the same for every reader", async () => {
      const script =
        "i=0; while [ $i -lt 40 ]; do i=$((i + 1)); echo o$i; echo é$i >&2; sleep 0.01; done";
      const { id } = await subject.processes.spawn(script);
      /** @param {number} maxBytes */
      const follow = async (maxBytes) => {
        let offset = 0;
        let read = "";
        for (;;) {
          const piece = await subject.processes.readOutput(id, {
            offset,
            maxBytes,
            waitMs: LONG_MS,
          });
          offset = piece.nextOffset;
          read += piece.output;
          if (piece.status !== "running" && piece.output === "") return read;
        }
      };
      const [first = "", ...others] = await Promise.all([follow(1000), follow(64), follow(25)]);
      for (const other of [...others, await follow(1_000_000)]) assert.equal(other, first);
      const lines = first.trimEnd().split("\n");
      for (const [letter, stream] of /** @type {const} */ ([
        ["o", "stdout"],
        ["é", "stderr"],
      ])) {
        const expected = Array.from({ length: 40 }, (_, index) => `${letter}${index + 1}\n`);
        assert.equal(await subject.text(id, { stream }), expected.join(""));
        const own = lines.filter((line) => line.includes(letter));
        assert.equal(own.length, 40);
      }
      assert.equal(Buffer.byteLength(first), (await subject.processes.readOutput(id)).nextOffset);
    });

    shellContract("chooses lines, and holds back the last one until it is finished", async () => {
      const [go, end] = [subject.path(), subject.path()];
      const { id } = await subject.processes.spawn(
        `printf 'apple\\npear\\r\\nap'; until [ -e '${go}' ]; do sleep 0.02; done
          printf 'ricot\\nplu'; until [ -e '${end}' ]; do sleep 0.02; done`,
      );
      const filter = "^ap|r$";
      const first = await subject.processes.readOutput(id, { filter, waitMs: LONG_MS });
      assert.deepEqual([first.output, first.nextOffset], ["apple\npear\r\n", 12]);
      const none = await subject.processes.readOutput(id, { filter, offset: 12 });
      assert.deepEqual([none.output, none.nextOffset], ["", 12]);
      writeFileSync(go, "");
      const second = await subject.processes.readOutput(id, {
        filter,
        offset: 12,
        waitMs: LONG_MS,
      });
      assert.deepEqual([second.output, second.nextOffset], ["apricot\n", 20]);
      writeFileSync(end, "");
      await subject.processes.wait(id);
      const third = await subject.processes.readOutput(id, { filter, exclude: true, offset: 12 });
      assert.deepEqual([third.output, third.nextOffset], ["plu", 23]);
    });

    shellContract("gets past a line that is longer than what may be read", async () => {
      const { id } = await subject.processes.spawn("printf 'xxxxxxxxxxxxxxxxxxxx'; sleep 600");
      const options = { filter: "x", maxBytes: 8, waitMs: LONG_MS };
      const first = await subject.processes.readOutput(id, options);
      assert.deepEqual([first.output, first.nextOffset], ["xxxxxxxx", 8]);
      const second = await subject.processes.readOutput(id, { ...options, offset: 8 });
      assert.deepEqual([second.output, second.nextOffset], ["xxxxxxxx", 16]);
      assert.equal(await subject.text(id, { filter: "x", maxBytes: 8, offset: 16 }), "");
      await subject.processes.terminate(id);
      assert.equal(await subject.text(id, { filter: "x", maxBytes: 8, offset: 16 }), "xxxx");
    });

    contract("waits for output or the end, and no longer than it is told", async () => {
      const go = subject.path();
      const { id } = await subject.processes.spawn(
        `until [ -e '${go}' ]; do sleep 0.02; done; exit 6`,
      );
      const begin = performance.now();
      assert.equal(await subject.text(id, { waitMs: 200 }), "");
      assert.ok(performance.now() - begin >= 190);
      const waiting = subject.processes.readOutput(id, { waitMs: LONG_MS });
      writeFileSync(go, "");
      const { status, exitCode } = await waiting;
      assert.deepEqual([status, exitCode], ["exited", 6]);
    });

    shellContract(
      "judges lines whole, whatever the other stream says in the middle of one",
      async () => {
        const [out, err, end] = [subject.path(), subject.path(), subject.path()];
        const { id } = await subject.processes.spawn(
          `printf 'one\\ntw'; until [ -e '${err}' ]; do sleep 0.02; done
        printf 'three\\nfo' >&2; until [ -e '${out}' ]; do sleep 0.02; done
        printf 'o\\nfi'; printf 'ur\\nsi' >&2; until [ -e '${end}' ]; do sleep 0.02; done
        printf ve; printf x >&2`,
        );
        const options = { filter: "^(one|two|three|four|five|six)$" };
        /** @param {string} text The order of the streams is that of the looks. */
        const sorted = (text) => text.split("\n").sort();
        /** @param {number} offset @param {string} output */
        const reads = async (offset, output) => {
          const read = await subject.processes.readOutput(id, {
            ...options,
            offset,
            waitMs: LONG_MS,
          });
          assert.deepEqual(sorted(read.output), sorted(output));
          return read.nextOffset;
        };
        // Who reads without a filter sees the beginning of a line, and where it came.
        assert.equal(await subject.text(id, { waitMs: LONG_MS }), "one\ntw");
        let offset = await reads(0, "one\n");
        writeFileSync(err, "");
        await subject.processes.readOutput(id, { offset: 6, waitMs: LONG_MS });
        assert.equal(await subject.text(id, { ...options, offset }), "");
        writeFileSync(out, "");
        offset = await reads(offset, "three\ntwo\nfour\n");
        assert.equal(await subject.text(id, { ...options, offset }), "");
        writeFileSync(end, "");
        await subject.processes.wait(id);
        await reads(0, "one\nthree\ntwo\nfour\nfive\nsix");
        assert.equal(await subject.text(id, { ...options, exclude: true }), "");
      },
    );

    shellContract("follows the lines of a stream while another has an unfinished one", async () => {
      const { id } = await subject.processes.spawn("printf 'name? '; echo oops >&2; sleep 600");
      const options = { filter: "^", waitMs: LONG_MS };
      const { output, nextOffset } = await subject.processes.readOutput(id, options);
      assert.deepEqual([output, nextOffset], ["oops\n", 5]);
      await subject.processes.terminate(id);
      assert.equal(await subject.text(id, { ...options, offset: nextOffset }), "name? ");
    });

    shellContract(
      "gets past a line around which the other stream says more than may be read",
      async () => {
        const { id } = await subject.ending(
          "printf 'a\nend'; i=0; while [ $i -lt 9 ]; do i=$((i + 1)); echo $i >&2; done",
        );
        let [offset, output] = [0, ""];
        for (;;) {
          const read = await subject.processes.readOutput(id, {
            filter: "^(end|.)$",
            maxBytes: 8,
            offset,
          });
          if (read.nextOffset === offset) break;
          assert.ok(read.nextOffset - offset <= 8);
          output += read.output.endsWith("\n") ? read.output : `${read.output}\n`;
          offset = read.nextOffset;
        }
        assert.deepEqual(output.trimEnd().split("\n").sort(), [..."123456789", "a", "end"]);
      },
    );

    shellContract(
      "cuts no line because of an unfinished one around which there is too much",
      async () => {
        const [err, out] = [subject.path(), subject.path()];
        const { id } = await subject.processes.spawn(
          `printf ab; until [ -e '${err}' ]; do sleep 0.02; done
        printf '111\\n222\\n333\\n' >&2; until [ -e '${out}' ]; do sleep 0.02; done; echo cd`,
        );
        for (const [offset, go] of /** @type {const} */ ([
          [0, err],
          [2, out],
        ])) {
          assert.notEqual(await subject.text(id, { offset, waitMs: LONG_MS }), "");
          writeFileSync(go, "");
        }
        await subject.processes.wait(id);
        let [offset, output] = [0, ""];
        for (;;) {
          const read = await subject.processes.readOutput(id, {
            ...{ filter: "^(ab|cd|111|222|333)$", maxBytes: 8 },
            offset,
          });
          if (read.nextOffset === offset) break;
          output += `${read.output}\n`;
          offset = read.nextOffset;
        }
        assert.deepEqual(output.match(/.+/g)?.sort(), ["111", "222", "333", "ab", "cd"]);
      },
    );

    shellContract("counts what it begins with before the end from its first look on", async () => {
      const { id } = await subject.processes.spawn("while :; do echo line; sleep 0.02; done");
      const read = { tailBytes: 0, waitMs: LONG_MS };
      for (const options of [{}, { stream: /** @type {const} */ ("stdout") }, { filter: "^" }]) {
        assert.match(await subject.text(id, { ...read, ...options }), /^(line\n)+$/);
      }
      await subject.processes.terminate(id);
    });

    shellContract("takes no rest of a line before the end for a whole one", async () => {
      const { id } = await subject.ending("printf 'one\ntwo\nthree\n'; printf 'four\n' >&2");
      const stdout = /** @type {const} */ ({ stream: "stdout", filter: "^" });
      assert.equal(await subject.text(id, { ...stdout, tailBytes: 8 }), "three\n");
      assert.equal(await subject.text(id, { ...stdout, tailBytes: 6 }), "three\n");
      assert.equal(await subject.text(id, { ...stdout, tailBytes: 14 }), "one\ntwo\nthree\n");
      assert.equal(await subject.text(id, { filter: "^", tailBytes: 8 }), "four\n");
    });
  });
}
