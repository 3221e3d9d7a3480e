// @ts-check
/** The same interface in plain JavaScript: fetch, eventsource-parser, JSON.parse. */

import { createParser } from "eventsource-parser";

/** @param {string} url */
export async function connect(url) {
  /** @param {string} id */
  async function* streamOutput(id) {
    const response = await fetch(`${url}/api/v1/stream/execs/${id}/io`);
    /** @type {any[]} */
    let events = [];
    const parser = createParser({ onEvent: ({ data }) => events.push(JSON.parse(data)) });
    const decoder = new TextDecoder();
    for await (const chunk of /** @type {any} */ (response.body)) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      yield* events;
      events = [];
    }
  }
  async function create() {
    const body = JSON.stringify({ command: "x", args: [] });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}/api/v1/execs`, { method: "POST", headers, body });
    return /** @type {Promise<{ id: string }>} */ (response.json());
  }
  return {
    async exec() {
      const { id } = await create();
      const outputs = [];
      for await (const { output } of streamOutput(id)) outputs.push(output);
      return outputs.join("");
    },
    async stream() {
      let events = 0;
      for await (const { output } of streamOutput("1")) events += output === undefined ? 0 : 1;
      return events;
    },
  };
}
