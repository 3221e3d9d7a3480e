// The agent's OpenAPI document: its live answers are what it says, and it holds all of the base
// interface.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { Ajv2020 } from "ajv/dist/2020.js";
import { startAgent } from "sandpipe/node";

/** The base interface: its file, and how many of its operations there are. */
const BASES = /** @type {const} */ ([
  ["execs", 10],
  ["files", 11],
]);

/** @typedef {Record<string, any>} Json */

describe("the OpenAPI document", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {Json} */
  let document;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  /** The operations that have been called, as `get /path status`. */
  const called = new Set();

  before(async () => {
    agent = await startAgent();
    document = await (await fetch(`${agent.url}/openapi.json`)).json();
    ajv.addSchema(document, "openapi");
  });
  after(() => agent.stop());

  /** @param {string} text */
  const pointer = (text) => text.replaceAll("~", "~0").replaceAll("/", "~1");

  /**
   * Calls an operation; the answer has to be one that the document names, of its schema.
   * @param {string} method
   * @param {string} path as the document writes it
   * @param {{ id?: string, file?: string, query?: string, body?: unknown, status: number, headers?: Record<string, string> }} call
   */
  const check = async (
    method,
    path,
    { id = "", file = "", query = "", body, status, headers = {} },
  ) => {
    const named = path.replace("{id}", id).replace("{path}", encodeURIComponent(file));
    const url = agent.url + named + query;
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${agent.token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const operation = `${method} ${path} ${status}`;
    assert.equal(response.status, status, operation);
    called.add(operation);
    const { responses } = document["paths"][path][method.toLowerCase()];
    const kept = String(status) in responses ? String(status) : "default";
    assert.ok(kept in responses, `${operation} is not in the document`);
    const type = response.headers.get("content-type")?.split(";")[0] ?? "";
    const schema = `openapi#/paths/${pointer(path)}/${method.toLowerCase()}/responses/${kept}/content/${pointer(type)}/schema`;
    const validate = ajv.compile({ $ref: schema });
    if (type === "application/octet-stream" || type === "application/x-tar") {
      await response.arrayBuffer();
      return;
    }
    const values =
      type === "text/event-stream" ? await firstEvent(response) : [await response.json()];
    for (const value of values) {
      assert.ok(
        validate(value),
        `${operation}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`,
      );
    }
    if (status >= 400) assert.equal(values[0].code, status);
    return values[0];
  };

  /** @param {Response} response */
  const firstEvent = async (response) => {
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const data = /^data: (.*)\n\n/m.exec(text);
      if (data) return [JSON.parse(data[1] ?? "")];
    }
    throw new Error(`no event in ${text}`);
  };

  it("describes every answer, success and error", async () => {
    const execs = "/api/v1/execs";
    const one = "/api/v1/execs/{id}";
    const start = "/api/v1/execs/{id}/start";
    const io = "/api/v1/execs/{id}/io";
    const stream = "/api/v1/stream/execs/{id}/io";
    const streamList = "/api/v1/stream/execs";
    await check("GET", "/health", { status: 200, headers: { authorization: "" } });

    const { id } = await check("POST", execs, {
      status: 201,
      body: {
        command: "cat",
        args: [],
        autostart: false,
        pty: false,
        user: String(process.getuid?.()),
      },
    });
    await check("POST", execs, { status: 400, body: { command: "", args: [] } });
    await check("POST", execs, {
      status: 400,
      body: { command: "true", args: [], cwd: "/no/such" },
    });
    await check("POST", execs, { status: 400, body: { command: "true", args: [], cols: 100 } });
    await check("POST", execs, { status: 400, body: "{not json" });
    await check("POST", execs, { status: 400, body: { args: [] } });
    await check("POST", execs, {
      status: 413,
      body: { command: "true", args: ["x".repeat(17 << 20)] },
    });
    await check("POST", execs, {
      status: 415,
      body: "{}",
      headers: { "content-type": "text/plain" },
    });
    await check("GET", execs, { status: 200 });
    await check("GET", streamList, { status: 200 });

    await check("POST", io, { id, status: 400, body: { type: "stdin", input: "x" } });
    await check("POST", start, { id, status: 200, body: {} });
    await check("POST", start, { id, status: 200 });
    await check("POST", io, { id, status: 200, body: { type: "stdin", input: "x\n" } });
    await check("POST", io, {
      id,
      status: 400,
      body: { type: "resize", input: '{"cols":80,"rows":24}' },
    });
    await check("GET", stream, { id, status: 200 });
    await check("GET", stream, { id, status: 400, query: "?lastSequence=x" });
    await check("GET", io, { id, status: 200, query: "?lastSequence=-5" });
    await check("GET", io, { id, status: 400, query: "?lastSequence=x" });
    await check("GET", one, { id, status: 200 });

    const signal = "/api/v1/execs/{id}/signal";
    await check("POST", signal, { id, status: 200, body: { signal: "SIGCONT" } });
    await check("POST", signal, { id, status: 400, body: { signal: "SIGNOTHING" } });
    await check("POST", signal, { id: "none", status: 404, body: { signal: "SIGTERM" } });
    const wrong = { authorization: "Bearer wrong" };
    await check("POST", signal, { id, status: 401, headers: wrong, body: { signal: "SIGTERM" } });
    const key = { "idempotency-key": "a-key" };
    const once = { command: "true", args: [] };
    const first = await check("POST", execs, { status: 201, headers: key, body: once });
    const second = await check("POST", execs, { status: 200, headers: key, body: once });
    assert.equal(second.id, first.id);
    const other = { command: "false", args: [] };
    await check("POST", execs, { status: 422, headers: key, body: other });

    const policy = "/api/v1/policy";
    await check("GET", policy, { status: 200 });
    await check("GET", policy, { status: 401, headers: wrong });
    await check("POST", execs, { status: 400, body: { ...other, policy: "no-such-preset" } });

    const ended = await check("POST", execs, {
      status: 201,
      body: { command: "no-such-command", args: [] },
    });
    await check("POST", start, { id: ended.id, status: 409 });
    const gone = { signal: "SIGTERM" };
    await check("POST", signal, { id: ended.id, status: 409, body: gone });

    for (const [method, path] of [
      ["GET", one],
      ["DELETE", one],
      ["POST", start],
      ["GET", io],
      ["GET", stream],
    ]) {
      await check(String(method), String(path), { id: "none", status: 404 });
    }
    await check("POST", io, { id: "none", status: 404, body: { type: "stdin", input: "" } });
    for (const [method, path] of [
      ["GET", execs],
      ["POST", execs],
      ["GET", one],
      ["DELETE", one],
      ["POST", start],
      ["GET", io],
      ["POST", io],
      ["GET", stream],
      ["GET", streamList],
    ]) {
      await check(String(method), String(path), {
        id,
        status: 401,
        headers: { authorization: "Bearer wrong" },
      });
    }
    await check("DELETE", one, { id, status: 200 });

    const files = "/api/v1/files/{path}";
    const directories = "/api/v1/directories/{path}";
    const stat = "/api/v1/file_stat/{path}";
    const watcher = "/api/v1/stream/directories/watcher/{path}";
    const folder = await mkdtemp(join(tmpdir(), "openapi-"));
    const file = join(folder, "made/file");
    const below = join(file, "below");
    const moved = { action: "move", destination: join(folder, "moved") };
    await check("POST", files, { file, status: 201, body: "text" });
    await check("POST", files, { file: folder, status: 400, body: "" });
    await check("POST", files, { file: below, status: 409, body: "" });
    await check("GET", files, { file, status: 200 });
    await check("GET", stat, { file, status: 200 });
    await check("GET", directories, { file: folder, status: 200, query: "?depth=2" });
    await check("GET", directories, { file, status: 400 });
    await check("POST", directories, { file: join(folder, "new"), status: 201 });
    await check("POST", directories, { file, status: 409 });
    await check("GET", watcher, { file: folder, status: 200, query: "?recursive=true" });
    await check("GET", watcher, { file: folder, status: 400, query: "?recursive=maybe" });
    await check("GET", watcher, { file, status: 400 });
    await check("DELETE", directories, { file, status: 400 });
    await check("DELETE", directories, { file: folder, status: 409, query: "?recursive=false" });
    await check("PATCH", files, { file, status: 400, body: { ...moved, destination: "" } });
    await check("PATCH", files, { file, status: 409, body: { ...moved, destination: folder } });
    await check("PATCH", files, { file, status: 200, body: moved });
    await check("PATCH", files, { file, status: 404, body: moved });
    await check("DELETE", files, { file: folder, status: 400 });
    await check("DELETE", files, { file: moved.destination, status: 200 });

    const accept = { accept: "application/octet-stream" };
    const upload = "?upload=0b9c2d1e-6f0a-4f7b-9a53-2f6f0d9a1c11";
    await check("PUT", files, { file, status: 201, body: "text" });
    await check("PUT", files, { file, status: 200, body: "text", query: "?append=true" });
    await check("PUT", files, { file, status: 412, body: "", headers: { "if-none-match": "*" } });
    await check("PUT", files, { file, status: 400, body: "", query: "?mode=x" });
    await check("PUT", files, { file: below, status: 409, body: "" });
    await check("PUT", files, { file, status: 409, body: "", query: `${upload}&offset=7` });
    await check("PUT", files, { file, status: 202, body: "text", query: upload });
    await check("DELETE", files, { file, status: 200, query: upload });
    await check("GET", files, { file, status: 200, headers: accept });
    await check("GET", files, { file, status: 206, headers: { ...accept, range: "bytes=1-2" } });
    await check("GET", files, { file, status: 416, headers: { ...accept, range: "bytes=9-" } });
    const trees = "/api/v1/trees/{path}";
    await check("GET", trees, { file: folder, status: 200 });
    await check("GET", trees, { file: join(folder, "none"), status: 404 });
    await check("PUT", trees, { file: folder, status: 200, body: "\0".repeat(1024) });
    await check("PUT", trees, { file: folder, status: 400, body: "no tar stream" });
    await check("PUT", trees, { file, status: 409, body: "" });
    await check("DELETE", directories, { file: folder, status: 200 });
    for (const [method, path] of [
      ["GET", files],
      ["DELETE", files],
      ["GET", stat],
      ["GET", directories],
      ["DELETE", directories],
      ["GET", watcher],
    ]) {
      await check(String(method), String(path), { file: "/no/such", status: 404 });
    }
    for (const [method, path, body] of /** @type {const} */ ([
      ["GET", files],
      ["POST", files, "text"],
      ["PATCH", files, moved],
      ["DELETE", files],
      ["GET", stat],
      ["GET", directories],
      ["POST", directories],
      ["DELETE", directories],
      ["GET", watcher],
      ["PUT", files, "text"],
      ["GET", trees],
      ["PUT", trees, "text"],
    ])) {
      await check(method, path, { file: "/..", status: 400, body });
      await check(method, path, { file, status: 401, headers: wrong, body });
    }

    const ports = "/api/v1/ports";
    const streamPorts = "/api/v1/stream/ports";
    for (const path of [ports, streamPorts]) {
      await check("GET", path, { status: 200 });
      await check("GET", path, { status: 401, headers: wrong });
    }

    const tokens = "/api/v1/tokens";
    const token = "/api/v1/tokens/{id}";
    const scopes = { expiresInMs: 60_000, createCommands: true, readFiles: "." };
    const created = await check("POST", tokens, { status: 201, body: scopes });
    const scoped = { authorization: `Bearer ${created.token}` };
    await check("POST", tokens, { status: 400, body: { expiresInMs: 0 } });
    await check("POST", tokens, { status: 401, headers: wrong, body: scopes });
    await check("POST", tokens, { status: 403, headers: scoped, body: scopes });
    await check("GET", tokens, { status: 200 });
    await check("GET", tokens, { status: 401, headers: wrong });
    await check("DELETE", token, { id: created.id, status: 403, headers: scoped });
    await check("DELETE", token, { id: created.id, status: 200 });
    await check("DELETE", token, { id: created.id, status: 404 });

    // The WebSockets have no JSON answer but their errors.
    const forward = "/ws/v1/ports/{port}";
    await check("GET", forward, { status: 400 });
    await check("GET", forward, { status: 401, headers: { authorization: "" } });
    await check("GET", "/ws/v1/execs/{id}", { id, status: 401, headers: { authorization: "" } });
    for (const [path, methods] of Object.entries(document["paths"])) {
      for (const method of Object.keys(methods)) {
        const name = `${method.toUpperCase()} ${path} `;
        assert.ok(
          [...called].some((operation) => operation.startsWith(name)),
          `${name}was not called`,
        );
      }
    }
  });

  it("refuses what it does not describe with the same kind of error", async () => {
    const validate = ajv.compile({ $ref: "openapi#/components/schemas/Error" });
    for (const [method, path, status] of /** @type {const} */ ([
      ["GET", "/nothing/here", 404],
      ["PUT", "/api/v1/execs", 405],
      ["POST", "/health", 405],
    ])) {
      const response = await fetch(agent.url + path, {
        method,
        headers: { authorization: `Bearer ${agent.token}` },
      });
      assert.equal(response.status, status);
      assert.equal(response.headers.get("content-type"), "application/json");
      const body = await response.json();
      assert.ok(validate(body), JSON.stringify(body));
    }
  });

  for (const [name, count] of BASES) {
    const file = new URL(`../../../shared/openapi/${name}.openapi.json`, import.meta.url);
    const skip = existsSync(file) ? false : "skipped: the base interface's file is not here";
    it(
      `holds every path, status, required property and type of the base's ${name}`,
      { skip },
      () => {
        /** @type {Json} */
        const base = JSON.parse(readFileSync(file, "utf8"));
        /** @param {Json} root @param {Json} value @returns {Json} */
        const resolve = (root, value) =>
          typeof value["$ref"] === "string"
            ? value["$ref"]
                .slice(2)
                .split("/")
                .reduce((/** @type {Json} */ at, key) => at[key], root)
            : value;
        /** @param {Json} schema @returns {string[]} */
        const types = (schema) =>
          [schema["type"]].flat().filter((type) => type !== "null" && type !== undefined);

        /** @param {Json} expected @param {Json} actual @param {string} where */
        const compare = (expected, actual, where) => {
          expected = resolve(base, expected);
          actual = resolve(document, actual);
          // What may be left out or null is written as one of two, what came later as another of several.
          const options = [actual, ...(actual["oneOf"] ?? actual["anyOf"] ?? [])].map((one) =>
            resolve(document, one),
          );
          actual = options.find((one) => types(one).length > 0) ?? {};
          assert.deepEqual(types(actual), types(expected), `the type of ${where}`);
          for (const name of expected["required"] ?? []) {
            assert.ok(actual["required"]?.includes(name), `${where}.${name} is not required`);
          }
          for (const [name, property] of Object.entries(expected["properties"] ?? {})) {
            assert.ok(actual["properties"]?.[name], `${where}.${name} is missing`);
            compare(property, actual["properties"][name], `${where}.${name}`);
          }
          for (const value of expected["enum"] ?? []) {
            assert.ok(actual["enum"]?.includes(value), `${where} can't be ${value}`);
          }
          if (expected["items"]) compare(expected["items"], actual["items"], `${where}[]`);
        };

        let operations = 0;
        for (const [path, methods] of Object.entries(base["paths"])) {
          for (const [method, expected] of Object.entries(methods)) {
            const where = `${method} ${path}`;
            const actual = document["paths"][path]?.[method];
            assert.ok(actual, `${where} is missing`);
            operations++;
            for (const parameter of expected.parameters ?? []) {
              const found = actual.parameters?.find(
                (/** @type {Json} */ one) =>
                  one["name"] === parameter.name && one["in"] === parameter.in,
              );
              assert.ok(found, `${where}: parameter ${parameter.name} is missing`);
              compare(parameter.schema, found.schema, `${where}: ${parameter.name}`);
            }
            for (const [status, response] of Object.entries(expected.responses)) {
              const found = actual.responses[status];
              assert.ok(found, `${where}: status ${status} is missing`);
              for (const [type, content] of Object.entries(response.content ?? {})) {
                assert.ok(found.content?.[type], `${where} ${status}: ${type} is missing`);
                compare(content.schema, found.content[type].schema, `${where} ${status}`);
              }
            }
            const body = expected.requestBody?.content?.["application/json"]?.schema;
            if (body)
              compare(
                body,
                actual.requestBody.content["application/json"].schema,
                `${where}: body`,
              );
          }
        }
        assert.equal(operations, count);
      },
    );
  }
});
