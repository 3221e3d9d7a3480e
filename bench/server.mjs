// @ts-check
/**
 * An agent of prepared answers: whatever is run prints the workload. `node -- server.mjs WORKLOAD [frames]` prints
 * its address and what is to come out of it as one line of JSON.
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { expectedOf, frames, stream, workloadOf } from "./workloads.mjs";

const outputs = workloadOf(process.argv[2] ?? "").outputs();
const hasFrames = process.argv[3] === "frames";
const bytes = hasFrames ? Buffer.alloc(0) : stream(outputs);
const framed = hasFrames ? frames(outputs) : [];

const exec = {
  id: "1",
  command: "x",
  args: [],
  status: "RUNNING",
  pid: 1,
  pty: false,
  exitCode: -1,
};
const server = createServer((request, response) => {
  request.resume();
  if (request.url?.startsWith("/api/v1/stream/") && hasFrames) {
    response.writeHead(200, { "content-type": "application/vnd.sandpipe.output" });
    return void Readable.from(framed).pipe(response);
  }
  if (request.url?.startsWith("/api/v1/stream/")) {
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "content-length": bytes.length,
    });
    return response.end(bytes);
  }
  if (request.url?.startsWith("/files/")) return sendFile(request.url, response);
  const features = hasFrames ? ["frames"] : [];
  const body = request.url === "/health" ? { agent: "prepared", version: "0", features } : exec;
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
});
const TYPES = {
  html: "text/html",
  js: "text/javascript",
  mjs: "text/javascript",
  wasm: "application/wasm",
};

/**
 * A file of the project, for a page that has the same origin.
 *
 * @param {string} url
 * @param {import("node:http").ServerResponse} response
 */
function sendFile(url, response) {
  const file = new URL(`..${url.slice("/files".length)}`, import.meta.url);
  const type = TYPES[/** @type {keyof TYPES} */ (file.pathname.split(".").at(-1) ?? "")];
  response.writeHead(200, { "content-type": type }).end(readFileSync(file));
}

server.listen(0, "127.0.0.1", () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, ...expectedOf(outputs) }));
});
