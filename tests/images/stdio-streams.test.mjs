// @ts-check
// Connections over an agent's standard streams, at their end.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http2";
import { describe, it } from "node:test";
import { Duplex, PassThrough, Writable } from "node:stream";

import { streamsOver } from "../../dist/node/container/stdio-streams.js";

describe("connections over standard streams", () => {
  it("end with the agent's output, also where its input takes nothing any more", async () => {
    const server = createServer().on("stream", (stream) => stream.respond({ ":status": 200 }));
    const [toAgent, toClient] = [new PassThrough(), new PassThrough()];
    server.emit("connection", Duplex.from({ readable: toAgent, writable: toClient }));
    const input = new Writable({
      write: (bytes, encoding, done) => void toAgent.write(bytes, encoding, done),
      final: () => undefined,
    });
    const output = toClient.pipe(new PassThrough(), { end: false });
    const connect = streamsOver(output, input);
    const connections = [connect(), connect()];
    await Promise.all(connections.map((connection) => once(connection, "response")));
    const closed = connections.map(
      (connection) =>
        new Promise((resolve) => connection.on("error", () => {}).once("close", resolve)),
    );
    output.end();
    await once(output, "end");
    for (const connection of connections) connection.destroy(new Error("its client was cut"));
    await Promise.all(closed);
    assert.ok(connect().destroyed);
  });
});
