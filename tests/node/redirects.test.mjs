// @ts-check
// Where requests go when an answer says that what they ask for is elsewhere.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import { describe, it } from "node:test";

import { connect, HttpError } from "sandpipe";

// No part of the package's interface.
import { httpFetch } from "../../dist/node/http-fetch.js";
import { withRedirects } from "../../dist/redirects.js";
import { httpServers, noExecs } from "../support/http-servers.mjs";
import { until } from "../support/processes.mjs";

describe("redirects", () => {
  const { serve } = httpServers();

  it(
    "leaves nothing with the signal of a request that is sent on",
    { timeout: 120_000 },
    async () => {
      const url = await serve((request, response) => {
        const at = Number(request.url?.slice(1));
        if (at < 15) response.writeHead(307, { location: `/${at + 1}` }).end("elsewhere");
        else response.end("here");
      });
      const { signal } = new AbortController();
      const follow = withRedirects(httpFetch);
      const answer = await follow(`${url}/0`, { method: "GET", headers: {}, signal });
      const reader = answer.body?.getReader();
      while (!(await reader?.read())?.done);
      await until(() => getEventListeners(signal, "abort").length === 0);
    },
  );

  /**
   * A server that leads from each path to the same one below `/moved`, at `target` or its own origin.
   *
   * @param {number} status
   * @param {import("node:http").RequestListener} [moved] what is there
   * @param {string} [target]
   */
  const leading = (status, moved, target = "") =>
    serve((request, response) => {
      if (request.url?.startsWith("/moved")) return void moved?.(request, response);
      if (request.url === "/health") return void response.writeHead(404).end();
      response.writeHead(status, { location: `${target}/moved${request.url}` }).end();
    });

  it("sends a body that is a stream nowhere else: what was read of it is gone", async () => {
    let reached = false;
    const url = await leading(307, (_, response) => {
      reached = true;
      response.end();
    });
    const follow = withRedirects(httpFetch);
    const { signal } = new AbortController();
    const body = Readable.from([Buffer.from("content")]);
    const init = /** @type {any} */ ({ method: "PUT", headers: {}, body, signal });
    const answer = await follow(`${url}/there`, init);
    assert.equal(answer.status, 307);
    const chunk = await answer.body?.getReader().read();
    assert.match(
      Buffer.from(chunk?.value ?? []).toString(),
      /a body that is a stream is sent once/,
    );
    assert.equal(reached, false);
  });

  for (const [how, fetch] of /** @type {const} */ ([
    ["node:http", undefined],
    ["fetch", globalThis.fetch],
  ])) {
    const own = fetch === undefined ? {} : { fetch };

    it(`deletes at another path where the answer says that it is there (${how})`, async () => {
      for (const status of [301, 302, 307, 308]) {
        let deleted = 0;
        const url = await leading(status, (request, response) => {
          assert.equal(request.method, "DELETE");
          assert.equal(request.headers.authorization, "Bearer secret");
          deleted++;
          response.writeHead(200, { "content-type": "application/json" }).end("{}");
        });
        await (await connect({ url, token: "secret", ...own })).execs.delete("1");
        assert.equal(deleted, 1, String(status));
      }
    });

    it(`goes to another origin with a GET that carries no credentials (${how})`, async () => {
      const agent = await serve((request, response) => {
        assert.equal(request.url, "/moved/api/v1/execs");
        noExecs(request, response);
      });
      for (const status of [301, 302, 303, 307, 308]) {
        const { execs } = await connect({ url: await leading(status, undefined, agent), ...own });
        assert.deepEqual(await execs.list(), [], String(status));
      }
    });

    it(`creates at another path only where the answer says that nothing has been done (${how})`, async () => {
      for (const status of [302, 303, 307, 308]) {
        let created = 0;
        const url = await leading(status, (request, response) => {
          assert.equal(request.method, "POST");
          created++;
          response.writeHead(400).end();
        });
        const { execs } = await connect({ url, ...own });
        const isRepeatable = status > 303;
        await assert.rejects(execs.create({ command: "x", args: [] }), (error) => {
          assert.ok(error instanceof HttpError, String(error));
          assert.equal(error.status, isRepeatable ? 400 : status);
          if (!isRepeatable) assert.match(error.message, /a POST is sent again only after 307/);
          return true;
        });
        assert.equal(created, isRepeatable ? 1 : 0, String(status));
      }
    });

    it(`takes no token, header or environment to another origin, and names both (${how})`, async () => {
      /** @type {string[]} */
      const received = [];
      const other = await serve((request, response) => {
        received.push(`${request.method} ${request.url}`);
        response.writeHead(200, { "content-type": "application/json" }).end("[]");
      });
      for (const status of [301, 302, 303, 307, 308]) {
        const url = await leading(status, undefined, other);
        const carrying = [{ token: "secret" }, { headers: { "x-api-key": "secret" } }];
        /** @type {[object, (execs: import("sandpipe").Execs) => Promise<unknown>][]} */
        const calls = [
          ...carrying.map((own) => /** @type {any} */ ([own, (/** @type {any} */ e) => e.list()])),
          [{ token: "secret" }, (execs) => execs.streamOutput("1").next()],
          [{}, (execs) => execs.delete("1")],
          [{}, (execs) => execs.create({ command: "x", args: [], env: { SECRET: "x" } })],
          [{}, (execs) => execs.exec("x", [], { env: { SECRET: "x" } })],
        ];
        for (const [index, [carried, call]] of calls.entries()) {
          const { execs } = await connect({ url, ...carried, ...own });
          const what = `${status}, call ${index}`;
          await assert.rejects(call(execs), (error) => {
            assert.ok(error instanceof HttpError, `${what}: ${error}`);
            assert.equal(error.status, status, what);
            assert.ok(error.message.includes(url) && error.message.includes(other), error.message);
            assert.match(error.message, /connect\(\)/);
            return true;
          });
        }
      }
      assert.deepEqual(received, []);
    });
  }

  it("does not go round in circles", async () => {
    const url = await serve((request, response) => {
      response.writeHead(307, { location: request.url }).end();
    });
    const { execs } = await connect({ url });
    await assert.rejects(execs.list(), (error) => {
      assert.ok(error instanceof HttpError && error.status === 307, String(error));
      assert.match(error.message, /no more than 20 redirects in a row are followed/);
      return true;
    });
  });
});
