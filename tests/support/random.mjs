// @ts-check
import { createHash } from "node:crypto";

/** Numbers that look like chance and are the same for the same seed. */
export class Random {
  #state;

  /** @param {string} seed */
  constructor(seed) {
    this.#state = createHash("sha256").update(seed).digest().readUInt32LE();
  }

  /** From 0 to below 1 (mulberry32). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /**
   * A whole number, both ends included.
   *
   * @param {number} from
   * @param {number} to
   */
  between(from, to) {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  /**
   * A whole number from 0 to `most`, small ones as likely as large ones: as many from 1 to 10 as
   * from 100 to 1000.
   *
   * @param {number} most
   */
  ofAnySize(most) {
    return Math.floor((most + 1) ** this.next()) - (this.chance(0.5) ? 1 : 0);
  }

  /** @param {number} probability */
  chance(probability) {
    return this.next() < probability;
  }

  /**
   * @template T
   * @param {readonly T[]} choices at least one
   * @returns {T}
   */
  pick(choices) {
    return /** @type {T} */ (choices[this.between(0, choices.length - 1)]);
  }
}
