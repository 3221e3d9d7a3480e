// @ts-check
import { STREAM_FAULTS } from "./stream-faults.mjs";

/**
 * @typedef {"health" | "create" | "create-stream" | "get" | "signal" | "stream" | "other"} Kind
 * `create-stream`: the stream that a create is answered with
 *
 * @typedef {object} Asked what is known of a request when it arrives
 * @property {Kind} kind
 * @property {boolean} streams it is to be answered with a stream
 * @property {number} lastSequence of a stream
 *
 * @typedef {"refused" | "answer not awaited" | "answer lost" | "answer cut" | "502 page, not forwarded"
 *   | "502 page, forwarded" | "503, Retry-After" | "429, Retry-After"} AnswerFault
 *
 * @typedef {object} Fault
 * @property {string} name
 * @property {AnswerFault} [answer] what befalls the answer as a whole
 * @property {number} [earlier] the stream begins so many events before the wanted one
 * @property {import("./stream-faults.mjs").Carry} [carry] what befalls the stream
 */

/** @type {readonly AnswerFault[]} */
export const ANSWER_FAULTS = [
  "refused",
  "answer not awaited",
  "answer lost",
  "answer cut",
  "502 page, not forwarded",
  "502 page, forwarded",
  "503, Retry-After",
  "429, Retry-After",
];

/** Those of them that tell streams nothing that a cut does not. @type {readonly AnswerFault[]} */
const STREAM_ANSWER_FAULTS = ["refused", "502 page, not forwarded", "503, Retry-After"];

const EARLIER = "begins with events that went before";

/** The faults that a stream can have. */
export const STREAM_FAULT_NAMES = [...STREAM_FAULTS.keys(), EARLIER, ...STREAM_ANSWER_FAULTS];

/** Those after which little or nothing of the output is left to come. */
const LATE = STREAM_FAULT_NAMES.filter((name) => /exit event|then on|twice|went before/.test(name));
const EARLY = STREAM_FAULT_NAMES.filter((name) => !LATE.includes(name));

/** With ten attempts allowed, this many failures in a row are survived. */
const MAX_IN_A_ROW = 8;

/** Says which fault befalls which request of a run. The same seed says the same. */
export class Plan {
  #random;
  #reach;
  #left;
  #chances;
  #lateShare;
  /** Failures in a row, of requests that are tried again together. @type {Map<string, number>} */
  #inARow = new Map();
  #furthest = 0;
  /** Those of the last stream, which may have brought something before it broke, and after it. */
  #sinceStream = 0;

  /**
   * @param {import("../support/random.mjs").Random} random
   * @param {object} options
   * @param {number} options.budget how many faults there are at most
   * @param {import("./stream-faults.mjs").Reach} options.reach
   * @param {Partial<Record<Kind, number>>} options.chances of a request to have a fault
   * @param {number} options.lateShare how many of a stream's faults let most of it through
   */
  constructor(random, { budget, reach, chances, lateShare }) {
    this.#random = random;
    this.#left = budget;
    this.#reach = reach;
    this.#chances = chances;
    this.#lateShare = lateShare;
  }

  /**
   * @param {Asked} asked
   * @returns {Fault | undefined}
   */
  next({ kind, streams, lastSequence }) {
    if (kind === "stream") {
      if (lastSequence > this.#furthest) {
        this.#furthest = lastSequence;
        this.#inARow.set("follow", this.#sinceStream);
      }
      this.#sinceStream = 0;
    }
    // A stream that breaks and the question what became of the exec count together.
    const together = kind === "stream" || kind === "get" ? "follow" : kind;
    const inARow = this.#inARow.get(together) ?? 0;
    const strikes = this.#random.chance(this.#chances[kind] ?? 0);
    if (!strikes || this.#left === 0 || inARow === MAX_IN_A_ROW) {
      if (together !== "follow") this.#inARow.delete(together);
      return undefined;
    }
    this.#left -= 1;
    this.#inARow.set(together, inARow + 1);
    if (together === "follow") this.#sinceStream += 1;
    if (kind === "stream" || (streams && this.#random.chance(0.5))) return this.#ofStream();
    return answerFault(this.#random.pick(ANSWER_FAULTS));
  }

  /** @returns {Fault} */
  #ofStream() {
    const name = this.#random.pick(this.#random.chance(this.#lateShare) ? LATE : EARLY);
    if (name === EARLIER) return { name, earlier: this.#random.between(1, 20) };
    const fault = STREAM_FAULTS.get(name);
    if (fault !== undefined) return { name, carry: fault(this.#random, this.#reach) };
    return answerFault(/** @type {AnswerFault} */ (name));
  }
}

/**
 * @param {AnswerFault} answer
 * @returns {Fault}
 */
function answerFault(answer) {
  return { name: answer, answer };
}
