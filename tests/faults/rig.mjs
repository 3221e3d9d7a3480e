// @ts-check
/** An agent, the texts that commands write, and a way to it that no fault befalls. */

import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { temporaryFolder } from "../support/installed-package.mjs";
import { writeBytes, writeText } from "./texts.mjs";

/**
 * @typedef {"full" | "sse" | "plain"} AgentKind with its extensions, without binary frames, or without any
 */

/** What a test or a row of the soak calls them. @type {Record<AgentKind, string>} */
export const AGENT_NAMES = {
  full: "an agent with all extensions",
  sse: "an agent without frames",
  plain: "an agent without extensions",
};

/** @type {Record<AgentKind, string[]>} */
const AGENT_ARGS = {
  full: [],
  sse: ["--without", "frames"],
  plain: ["--without", "all"],
};

export class Rig {
  /** @type {Map<string, Promise<import("./texts.mjs").Text>>} */
  #texts = new Map();

  /**
   * @param {AgentKind} kind
   * @param {Awaited<ReturnType<typeof startAgent>>} agent
   * @param {import("sandpipe").Execs} direct
   * @param {string} folder
   */
  constructor(kind, agent, direct, folder) {
    this.kind = kind;
    this.agent = agent;
    this.direct = direct;
    this.folder = folder;
  }

  /** @param {AgentKind} kind */
  static async start(kind) {
    const agent = await startAgent({ args: AGENT_ARGS[kind] });
    const { execs } = await connect(agent);
    return new Rig(kind, agent, execs, await temporaryFolder());
  }

  async stop() {
    await this.agent.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The extensions that the agent announces. @returns {Promise<string[]>} */
  async features() {
    const answer = await fetch(`${this.agent.url}/health`);
    return (await answer.json()).features;
  }

  /**
   * @param {import("./texts.mjs").Size} size
   * @param {boolean} inBytes it is no text
   */
  text(size, inBytes) {
    const key = `${size} ${inBytes}`;
    const text = this.#texts.get(key) ?? (inBytes ? writeBytes : writeText)(this.folder, size);
    this.#texts.set(key, text);
    return text;
  }

  /**
   * The file to which a run's command appends a line.
   *
   * @param {string} seed
   */
  countFile(seed) {
    return join(this.folder, `${seed}.count`);
  }

  /**
   * How often a run's command has run.
   *
   * @param {string} seed
   */
  async timesRun(seed) {
    const lines = await readFile(this.countFile(seed), "utf8").catch((error) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    return lines.split("\n").length - 1;
  }
}
