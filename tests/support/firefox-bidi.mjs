#!/usr/bin/env node
// @ts-check
/**
 * Debian's Firefox as Playwright starts a browser that it speaks WebDriver BiDi with. That sends a command to each context which
 * this Firefox does not know yet, `emulation.setMediaFeaturesOverride`: it is answered here, all else goes through.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";
import { firefox as program } from "../../scripts/setup/debian-packages.mjs";

const UNKNOWN = "emulation.setMediaFeaturesOverride";

/** Listens for WebSockets that go to a port; resolves its own. @param {number} port */
async function relay(port) {
  const server = createServer((client) => {
    const browser = connect(port, "127.0.0.1");
    const commands = new Frames(`127.0.0.1:${port}`);
    const answers = new Frames(`127.0.0.1:${port}`);
    client.on("data", (bytes) => {
      for (const { frame, text } of commands.read(bytes)) {
        const { id, method } = text === undefined ? {} : JSON.parse(text);
        if (method === UNKNOWN) client.write(textFrame({ id, type: "success", result: {} }));
        else browser.write(frame);
      }
    });
    browser.on("data", (bytes) => {
      for (const { frame } of answers.read(bytes)) client.write(frame);
    });
    for (const [one, other] of /** @type {const} */ ([
      [client, browser],
      [browser, client],
    ])) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return /** @type {import("node:net").AddressInfo} */ (server.address()).port;
}

/** Takes one direction of a WebSocket apart: the handshake, then frames (RFC 6455, 5.2). */
class Frames {
  #rest = Buffer.alloc(0);
  #isOpen = false;
  #host;

  /** @param {string} host where a handshake goes to */
  constructor(host) {
    this.#host = host;
  }

  /**
   * @param {Buffer} bytes
   * @returns {{ frame: Buffer, text?: string }[]} what is complete now; of a text in one frame the text, too
   */
  read(bytes) {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const found = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      found.push(next);
      this.#rest = this.#rest.subarray(next.length);
    }
    return found;
  }

  #next() {
    const rest = this.#rest;
    if (!this.#isOpen) {
      const length = rest.indexOf("\r\n\r\n") + 4;
      if (length < 4) return undefined;
      this.#isOpen = true;
      // Compressed messages could not be read.
      const head = rest
        .toString("latin1", 0, length)
        .replace(/^Sec-WebSocket-Extensions:.*\r\n/im, "")
        // It takes its own address alone.
        .replace(/^Host:.*$/im, `Host: ${this.#host}`);
      return { frame: Buffer.from(head, "latin1"), length };
    }
    if (rest.length < 10 && rest.length < 2 + lengthBytes(rest)) return undefined;
    const start = 2 + lengthBytes(rest);
    const isMasked = (rest.readUInt8(1) & 0x80) !== 0;
    const begin = start + (isMasked ? 4 : 0);
    const length = begin + payloadLength(rest);
    if (rest.length < length) return undefined;
    const frame = rest.subarray(0, length);
    const isText = rest.readUInt8(0) === 0x81;
    if (!isText || !isMasked) return { frame, length };
    const mask = rest.subarray(start, begin);
    const payload = rest.subarray(begin, length).map((byte, at) => byte ^ Number(mask[at % 4]));
    return { frame, length, text: Buffer.from(payload).toString() };
  }
}

/** How many bytes tell the length besides the first two. @param {Buffer} frame */
function lengthBytes(frame) {
  if (frame.length < 2) return 8;
  const short = frame.readUInt8(1) & 0x7f;
  return short === 126 ? 2 : short === 127 ? 8 : 0;
}

/** @param {Buffer} frame */
function payloadLength(frame) {
  const bytes = lengthBytes(frame);
  if (bytes === 0) return frame.readUInt8(1) & 0x7f;
  return bytes === 2 ? frame.readUInt16BE(2) : Number(frame.readBigUInt64BE(2));
}

/** @param {object} message */
function textFrame(message) {
  const payload = Buffer.from(JSON.stringify(message));
  return Buffer.concat([Buffer.from([0x81, payload.length]), payload]);
}

const firefox = spawn(program, process.argv.slice(2), { stdio: ["ignore", "inherit", "pipe"] });
for await (const line of createInterface({ input: firefox.stderr })) {
  const address = /^WebDriver BiDi listening on ws:\/\/127\.0\.0\.1:(\d+)/.exec(line);
  console.error(
    address === null ? line : line.replace(/:\d+$/, `:${await relay(Number(address[1]))}`),
  );
}
const [code] = firefox.exitCode === null ? await once(firefox, "exit") : [firefox.exitCode];
process.exit(code ?? 1);
