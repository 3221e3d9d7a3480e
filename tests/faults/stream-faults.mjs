// @ts-check
/**
 * What can befall a stream of events on its way. Nothing here does it: each fault turns the bytes
 * that arrive into the steps of what is to happen to them.
 */

import { setTimeout as pause } from "node:timers/promises";
import { insideCharacter, wholeEvents } from "./event-stream.mjs";

/**
 * @typedef {"reset" | "abort" | "clean"} Ending
 * How a connection ends: by RST, without the last chunk of a chunked body, or in good order.
 *
 * @typedef {{ send: Buffer } | { wait: number } | { end: Ending }} Step
 *
 * @typedef {import("./event-stream.mjs").WholeEvent} WholeEvent
 *
 * @typedef {(source: import("./event-stream.mjs").Source, strike: () => void) => AsyncGenerator<Step, void>} Carry
 * Gives the steps; calls `strike` when the fault takes place, for a stream can be too short for it.
 *
 * @typedef {object} Reach how far a stream goes, so that faults are spread over it
 * @property {number} bytes
 * @property {number} events
 *
 * @typedef {(random: import("../support/random.mjs").Random, reach: Reach) => Carry} StreamFault
 */

/** @type {readonly Ending[]} */
const ENDINGS = ["reset", "abort", "clean"];

/** @type {Record<string, (ending: Ending) => StreamFault>} */
const CUTS = {
  "cut after N bytes": (ending) => (random, reach) =>
    cutAfterBytes(ending, random.ofAnySize(reach.bytes)),
  "cut mid-event": (ending) => (random, reach) =>
    cutInEvent(ending, random.ofAnySize(reach.events), inside(random.next())),
  "cut mid-character": (ending) => (random, reach) =>
    cutInEvent(ending, random.ofAnySize(reach.events), insideCharacterNear(random.next())),
  "cut before the exit event": (ending) => () => cutAtExit(ending, "before"),
  "cut after the exit event": (ending) => () => cutAtExit(ending, "after"),
};

/** By their names. @type {ReadonlyMap<string, StreamFault>} */
export const STREAM_FAULTS = new Map([
  ...Object.entries(CUTS).flatMap(([name, cut]) =>
    ENDINGS.map((ending) => /** @type {const} */ ([`${name}: ${ending}`, cut(ending)])),
  ),
  ["stall, then on", (random, reach) => stall(random, reach)],
  ["stall, then reset", (random, reach) => stall(random, reach, "reset")],
  ["events delivered twice", (random, reach) => repeat(random, reach)],
]);

/**
 * @param {Ending} ending
 * @param {number} count
 * @returns {Carry}
 */
function cutAfterBytes(ending, count) {
  return async function* (source, strike) {
    let left = count;
    for await (const chunk of source) {
      if (chunk.length >= left) {
        strike();
        yield { send: chunk.subarray(0, left) };
        yield { end: ending };
        return;
      }
      left -= chunk.length;
      yield { send: chunk };
    }
  };
}

/**
 * Some of an event's bytes, but not all.
 *
 * @param {number} part which, from 0 to below 1
 * @returns {(event: WholeEvent) => number}
 */
function inside(part) {
  return ({ bytes }) => 1 + Math.floor(part * (bytes.length - 1));
}

/**
 * Up to some byte of a character that has more of them.
 *
 * @param {number} part which, from 0 to below 1
 * @returns {(event: WholeEvent) => number | undefined}
 */
function insideCharacterNear(part) {
  return (event) =>
    insideCharacter(event, Math.floor(part * event.bytes.length)) ?? insideCharacter(event, 0);
}

/**
 * Cuts an event, the one of this number or the next one where it can be done.
 *
 * @param {Ending} ending
 * @param {number} number
 * @param {(event: WholeEvent) => number | undefined} place how many bytes of the event come through
 * @returns {Carry}
 */
function cutInEvent(ending, number, place) {
  return async function* (source, strike) {
    let count = 0;
    for await (const event of wholeEvents(source)) {
      if (event.isOutput) count += 1;
      const cut = count > 0 && count >= number ? place(event) : undefined;
      if (cut !== undefined) {
        strike();
        yield { send: event.bytes.subarray(0, cut) };
        yield { end: ending };
        return;
      }
      yield { send: event.bytes };
    }
  };
}

/**
 * @param {Ending} ending
 * @param {"before" | "after"} side
 * @returns {Carry}
 */
function cutAtExit(ending, side) {
  return async function* (source, strike) {
    for await (const event of wholeEvents(source)) {
      const isLast = event.hasExitCode;
      if (!isLast || side === "after") yield { send: event.bytes };
      if (isLast) {
        strike();
        yield { end: ending };
        return;
      }
    }
  };
}

/**
 * @param {import("../support/random.mjs").Random} random
 * @param {Reach} reach
 * @param {Ending} [ending] what comes of it; else it goes on
 * @returns {Carry}
 */
function stall(random, reach, ending) {
  const number = random.ofAnySize(reach.events);
  const wait = random.between(5, 100);
  return async function* (source, strike) {
    let count = 0;
    for await (const event of wholeEvents(source)) {
      if (count === number) {
        strike();
        yield { wait };
        if (ending !== undefined) {
          yield { end: ending };
          return;
        }
      }
      count += 1;
      yield { send: event.bytes };
    }
  };
}

/**
 * Sends up to five events again, at once or after others that came later.
 *
 * @param {import("../support/random.mjs").Random} random
 * @param {Reach} reach
 * @returns {Carry}
 */
function repeat(random, reach) {
  const number = Math.max(1, random.ofAnySize(reach.events));
  const length = random.between(1, 5);
  return async function* (source, strike) {
    let count = 0;
    /** @type {Buffer[]} */
    const latest = [];
    for await (const event of wholeEvents(source)) {
      // The exit event ends the stream: what is to be repeated goes before it.
      if (latest.length > 0 && (count === number || (count < number && event.hasExitCode))) {
        strike();
        for (const earlier of latest) yield { send: earlier };
        latest.length = 0;
        count = number;
      }
      yield { send: event.bytes };
      if (!event.isOutput) continue;
      count += 1;
      latest.push(Buffer.from(event.bytes));
      if (latest.length > length) latest.shift();
    }
  };
}

/**
 * A proxy that lets no stream last longer than this.
 *
 * @param {number} milliseconds
 * @param {Ending} ending
 * @returns {Carry}
 */
export function endAfter(milliseconds, ending) {
  return async function* (source, strike) {
    const over = pause(milliseconds, undefined, { ref: false });
    const chunks = source[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([chunks.next(), over]);
      if (next === undefined) {
        strike();
        yield { end: ending };
        return;
      }
      if (next.done) return;
      yield { send: next.value };
    }
  };
}

/**
 * A connection that is dead without anybody saying so: nothing comes after so many bytes.
 *
 * @param {number} bytes
 * @returns {Carry}
 */
export function fallSilent(bytes) {
  return async function* (source, strike) {
    for await (const step of cutAfterBytes("reset", bytes)(source, strike)) {
      yield "end" in step ? { wait: Infinity } : step;
    }
  };
}

/** Nothing happens. @type {Carry} */
export async function* carryOn(source) {
  for await (const send of source) yield { send };
}
