// The single operations on execs, and what they say of wrong arguments.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connect, HttpError, InvalidArgumentError } from "sandpipe";
import { startAgent } from "sandpipe/node";

describe("execs", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Execs} */
  let execs;

  before(async () => {
    agent = await startAgent();
    ({ execs } = await connect(agent));
  });
  after(() => agent.stop());

  it("creates, starts, gets, lists and deletes", async () => {
    const created = await execs.create({ command: "sh", args: ["-c", "exit 7"], autostart: false });
    const expected = {
      command: "sh",
      args: ["-c", "exit 7"],
      status: "CREATED",
      pty: false,
      exitCode: -1,
      cwd: process.cwd(),
      policy: "open",
    };
    const { id, pid, createdAt = "" } = created;
    assert.deepEqual(created, { ...expected, id, pid, createdAt });
    assert.equal(new Date(createdAt).toISOString(), createdAt);
    assert.deepEqual(await execs.get(id), created);
    assert.deepEqual(await execs.list(), [created]);

    assert.ok((await execs.start(id)).pid > 0);
    assert.deepEqual({ ...(await execs.wait(id)) }, { exitCode: 7, output: "" });
    const ended = await execs.get(id);
    assert.equal(ended.status, "EXITED");
    assert.equal(ended.exitCode, 7);
    const { startedAt = "", endedAt = "" } = ended;
    assert.ok(createdAt <= startedAt && startedAt <= endedAt);

    assert.equal(await execs.delete(id), undefined);
    assert.deepEqual(await execs.list(), []);
    await assert.rejects(
      execs.get(id),
      (error) => error instanceof HttpError && error.status === 404,
    );
  });

  it("starts only what has not run", async () => {
    const { id } = await execs.create({ command: "cat", args: [] });
    assert.equal((await execs.start(id)).status, "RUNNING");
    await execs.sendStdin(id, { input: "x" });
    const killed = execs.wait(id);
    await execs.waitForOutput(id, "x");
    await execs.exec("sh", ["-c", `kill -9 ${(await execs.get(id)).pid}`]);
    assert.deepEqual({ ...(await killed) }, { exitCode: 137, output: "x" });
    await assert.rejects(
      execs.start(id),
      (error) => error instanceof HttpError && error.status === 409,
    );
  });

  it("lists the newest first", async () => {
    const ids = [];
    for (const n of ["1", "2", "3"])
      ids.unshift((await execs.create({ command: "true", args: [n] })).id);
    assert.deepEqual(
      (await execs.list()).slice(0, 3).map(({ id }) => id),
      ids,
    );
  });

  it("gives a snapshot of a command that runs, and of one that has ended", async () => {
    const script = "echo one; echo two >&2; read go; echo three; exit 9";
    const { id } = await execs.create({ command: "sh", args: ["-c", script] });
    let seen = 0;
    for await (const event of execs.streamOutput(id)) {
      seen = event.sequence;
      if (event.output === "two\n") break;
    }
    assert.deepEqual(await execs.getOutput(id), { output: "one\ntwo\n", lastSequence: seen });
    await execs.sendStdin(id, { input: "\n" });
    await execs.wait(id);
    const { lastSequence, ...whole } = await execs.getOutput(id);
    assert.deepEqual(whole, { exitCode: 9, output: "one\ntwo\nthree\n" });
    const rest = { exitCode: 9, output: "three\n", lastSequence };
    assert.deepEqual(await execs.getOutput(id, seen), rest);
    assert.deepEqual(await execs.getOutput(id, -1), { exitCode: 9, output: "", lastSequence });
    assert.deepEqual(await execs.getOutput(id, 1000), { output: "", lastSequence: 1000 });
    const silent = await execs.create({ command: "sleep", args: ["1000"] });
    for (const last of [0, -1]) {
      const nothing = { output: "", lastSequence: 0 };
      assert.deepEqual(await execs.getOutput(silent.id, last), nothing);
    }
    await execs.delete(silent.id);
  });

  it("starts a terminal with the size that is asked for", async () => {
    const sized = { pty: true, cols: 100, rows: 30 };
    assert.equal((await execs.exec("stty", ["size"], sized)).output, "30 100\r\n");
    const command = { command: "stty", args: ["size"] };
    const { id } = await execs.create({ ...command, pty: true, cols: 100 });
    assert.equal((await execs.wait(id)).output, "24 100\r\n");
    await assert.rejects(execs.exec("stty", ["size"], { cols: 100 }), {
      message: /`options.cols` must be left out, or come with `pty: true`, but is the number 100/,
    });
  });

  it("sends text to stdin and a size to the terminal", async () => {
    const script = "stty -echo; echo ready; read line; stty size; echo got $line";
    const { id } = await execs.create({ command: "sh", args: ["-c", script], pty: true });
    let output = "";
    for await (const event of execs.streamOutput(id)) {
      output += event.output;
      if (event.output.includes("ready")) {
        await execs.sendStdin(id, {
          type: "resize",
          input: JSON.stringify({ cols: 100, rows: 30 }),
        });
        await execs.sendStdin(id, { input: "é 😀\n" });
      }
    }
    assert.equal(output, "ready\r\n30 100\r\ngot é 😀\r\n");
  });

  it("says of every wrong argument which it is, what it was, and what is right", async () => {
    const bad = /** @type {any} */ (execs);
    const cases = [
      [() => bad.exec(), /`command` must be a string, but is undefined/],
      [() => bad.exec(7), /`command` must be a string, but is the number 7/],
      [() => bad.exec(""), /`command` must be the name or path of a program, but is the string ""/],
      [
        () => bad.exec("a\ud800"),
        /`command` must be well-formed text, but is a string with a lone surrogate/,
      ],
      [() => bad.exec("ls", "-l"), /`args` must be an array of strings, but is the string "-l"/],
      [() => bad.exec("ls", ["a", 1]), /`args\[1\]` must be a string, but is the number 1/],
      [() => bad.exec("ls", [], 5), /`options` must be an object, but is the number 5/],
      [
        () => bad.exec("ls", [], { cwdd: "/" }),
        /`options` must be an object with no other fields than .*, but is one with "cwdd"/,
      ],
      [() => bad.exec("ls", [], { cwd: null }), /`options.cwd` must be a string, but is null/],
      [
        () => bad.exec("ls", [], { pty: "yes" }),
        /`options.pty` must be a boolean, but is the string "yes"/,
      ],
      [
        () => bad.exec("ls", [], { env: { A: 1 } }),
        /`options.env.A` must be a string, but is the number 1/,
      ],
      [
        () => bad.exec("ls", [], { env: ["A=1"] }),
        /`options.env` must be an object, but is an array/,
      ],
      [
        () => bad.exec("ls", [], { onOutput: {} }),
        /`options.onOutput` must be a function, but is an object/,
      ],
      [() => bad.create("ls"), /`request` must be an object, but is the string "ls"/],
      [() => bad.create({ args: [] }), /`request.command` must be a string, but is undefined/],
      [() => bad.get(""), /`id` must be the id of an exec, but is the string ""/],
      [() => bad.get(".."), /`id` must be the id of an exec/],
      [
        () => bad.getOutput("x", 1.5),
        /`lastSequence` must be a whole number, but is the number 1.5/,
      ],
      [
        () => bad.sendStdin("x", { type: "sdtin", input: "" }),
        /`body.type` must be "stdin", "resize" or "eof", but is the string "sdtin"/,
      ],
    ];
    for (const [call, message] of cases) {
      const promise = /** @type {() => Promise<unknown>} */ (call)();
      await assert.rejects(promise, (error) => {
        assert.ok(error instanceof InvalidArgumentError, String(error));
        assert.match(error.message, /** @type {RegExp} */ (message));
        return true;
      });
    }
    await assert.rejects(async () => bad.streamOutput(3).next(), InvalidArgumentError);
    assert.throws(() => bad.streamOutput("x", 0, { signal: {} }), InvalidArgumentError);
  });

  it("says of every wrong option of connect what is right", async () => {
    const { token, url } = agent;
    const cases = [
      [{}, /`options.url` must be a string, but is undefined/],
      [
        { url: "not a url" },
        /`options.url` must be an agent's address such as "http:.*", but is the string "not a url"/,
      ],
      [{ url: "ftp://127.0.0.1" }, /`options.url` must be an agent's address/],
      [{ url: `${url}/?x=1` }, /`options.url` must be an agent's address alone/],
      [{ url: `${url}/#token=sesame` }, /^(?!.*sesame).*address alone.*\/#…"/],
      [{ url: "http://sesame:open@a.example" }, /^(?!.*sesame)(?!.*open).*"http:\/\/…@a\.example"/],
      [{ url, token: "" }, /`options.token` must be visible ASCII/],
      [{ url, token: `${token}\n` }, /`options.token` must be visible ASCII/],
      [
        { url, tokn: token },
        /`options` must be an object with no other fields than .*, but is one with "tokn"/,
      ],
      [{ url, fetch: "fetch" }, /`options.fetch` must be a function/],
      [
        { url, headers: { "a b": "c" } },
        /`options.headers.a b` must be a header that HTTP allows, but is not/,
      ],
      [{ url, headers: { a: "\u0001" } }, /`options.headers.a` must be a header that HTTP allows/],
      [
        { url, headers: { "Content-Length": "5" } },
        /`options.headers.Content-Length` must be left out, but is a header that the connection sets/,
      ],
    ];
    for (const [options, message] of cases) {
      await assert.rejects(connect(/** @type {any} */ (options)), (error) => {
        assert.ok(error instanceof InvalidArgumentError, String(error));
        assert.match(error.message, /** @type {RegExp} */ (message));
        assert.ok(!error.message.includes(token), "the token is in no message");
        return true;
      });
    }
  });

  it("takes the address as a URL, keeps its path, and sends the headers and the token", async () => {
    /** @type {Array<[string, Headers]>} */
    const requests = [];
    const { execs } = await connect({
      url: new URL(`${agent.url}/some/prefix/`),
      token: agent.token,
      headers: { "x-trace": "abc" },
      fetch: (input, init) => {
        requests.push([String(input), new Headers(init?.headers)]);
        return fetch(String(input).replace("/some/prefix", ""), init);
      },
    });
    assert.ok(Array.isArray(await execs.list()));
    const [[url, headers] = []] = requests;
    assert.equal(url, `${agent.url}/some/prefix/api/v1/execs`);
    assert.equal(headers?.get("x-trace"), "abc");
    assert.equal(headers?.get("authorization"), `Bearer ${agent.token}`);
  });
});
