// @ts-check
/** The same interface in plain JavaScript: fetch, eventsource-parser, JSON.parse. */

import { createParser } from "eventsource-parser";
import { open } from "./open.mjs";

/** @param {import("../targets.mjs").Target} target */
export async function connect(target) {
  async function* streamOutput() {
    /** @type {any[]} */
    let events = [];
    const parser = createParser({ onEvent: ({ data }) => events.push(JSON.parse(data)) });
    const decoder = new TextDecoder();
    for await (const chunk of /** @type {any} */ (await open(target))) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      yield* events;
      events = [];
    }
  }
  return {
    async exec() {
      const outputs = [];
      for await (const { output } of streamOutput()) outputs.push(output);
      return outputs.join("");
    },
    async stream() {
      let length = 0;
      for await (const { output } of streamOutput()) length += output.length;
      return length;
    },
  };
}
