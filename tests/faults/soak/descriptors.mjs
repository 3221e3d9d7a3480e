// @ts-check
/** The limit on descriptors is reached: by connections, and by execs. */

import { once as event } from "node:events";
import { connect as connectSocket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { connect, isSandpipeError } from "sandpipe";
import { startLimitedAgent } from "./limited-agent.mjs";
import { checkAfterwards, checkObserved, startObserved } from "./observed.mjs";
import { Row } from "./row.mjs";

const LIMIT = 256;
const CONNECTIONS = 500;
const EXECS = 100;

/** @type {import("./row.mjs").Scenario} */
export const descriptors = {
  name: "descriptors",
  async run(deadline) {
    const [byConnections, byExecs] = [
      new Row(`descriptors: at most ${LIMIT}, ${CONNECTIONS} connections`),
      new Row(`descriptors: at most ${LIMIT}, ${EXECS} execs`),
    ];
    do {
      await byConnections.once((promises) => once(promises, takeByConnections));
      await byExecs.once((promises) => once(promises, takeByExecs));
    } while (performance.now() < deadline);
    return [byConnections, byExecs];
  },
};

/**
 * @typedef {(agent: { url: string }, execs: import("sandpipe").Execs) => Promise<() => Promise<void>>} Take
 * Takes what descriptors there are; resolves what gives them back.
 *
 * @param {import("./row.mjs").Promises} promises
 * @param {Take} take
 */
async function once(promises, take) {
  const limited = await startLimitedAgent({ limits: [`--nofile=${LIMIT}:${LIMIT}`] });
  const sandbox = await connect(limited.agent);
  const { execs } = sandbox;
  try {
    const observed = await startObserved(execs, 4);
    const giveBack = await take(limited.agent, execs);
    promises.struck += 1;
    await checkObserved(promises, execs, observed);
    await promises.keeps("what took them can be stopped", 120_000, giveBack);
    await checkAfterwards(promises, execs);
  } finally {
    sandbox.close();
    await limited.stop();
  }
}

/** @type {Take} */
async function takeByConnections({ url }) {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: CONNECTIONS }, () =>
    connectSocket(Number(port), hostname).on("error", () => undefined),
  );
  // Those for which there is no place wait in the system's queue.
  await Promise.race([Promise.all(sockets.map((socket) => event(socket, "connect"))), pause(3000)]);
  return async () => {
    for (const socket of sockets) socket.destroy();
  };
}

/** @type {Take} */
async function takeByExecs(_, execs) {
  await Promise.all(
    Array.from({ length: EXECS }, async () => {
      try {
        await execs.create({ command: "sleep", args: ["600"] });
      } catch (error) {
        // To refuse one is no lie, nor that it is not known.
        if (!isSandpipeError(error, "http") && !isSandpipeError(error, "create_unknown"))
          throw error;
      }
    }),
  );
  return async () => {
    for (const { id, command, status } of await execs.list())
      if (command === "sleep" && status === "RUNNING") await execs.terminate(id);
  };
}
