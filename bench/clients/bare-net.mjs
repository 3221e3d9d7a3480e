// @ts-check
/** Reads frames from the socket into the same memory over and over: what the agent takes to give them. */

import { connect as connectSocket } from "node:net";
import { create, FRAMES } from "./open.mjs";

/** @param {import("../targets.mjs").Target} target */
export async function connect(target) {
  const { hostname, port, host } = new URL(target.url);
  const read = async () => {
    const id = await create(target);
    let bytes = 0;
    await new Promise((resolve, reject) => {
      const socket = connectSocket({
        ...{ host: hostname, port: Number(port) },
        onread: {
          buffer: new Uint8Array(256 * 1024),
          callback(length) {
            bytes += length;
            return true;
          },
        },
      });
      socket.on("error", reject).on("close", resolve).resume();
      const lines = [
        `GET /api/v1/stream/execs/${id}/io HTTP/1.1`,
        ...[`host: ${host}`, `authorization: Bearer ${target.token}`],
        ...[`accept: ${FRAMES}`, "connection: close"],
      ];
      socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    });
    return bytes;
  };
  return { exec: read, stream: read };
}
