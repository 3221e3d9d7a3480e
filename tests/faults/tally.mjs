// @ts-check
import { ANSWER_FAULTS, STREAM_FAULT_NAMES } from "./plan.mjs";

/** Counts the faults of many runs, and those of the runs that ended as they should. */
export class Tally {
  #runs = 0;
  #failed = 0;
  /** @type {Map<string, { injected: number, survived: number }>} */
  #rows = new Map();

  constructor() {
    const named = [
      ...STREAM_FAULT_NAMES.map((name) => rowName("stream", name)),
      ...["create", "get", "health"].flatMap((kind) =>
        ANSWER_FAULTS.map((name) => rowName(kind, name)),
      ),
    ];
    // One that never takes place is to be seen.
    for (const name of named) this.#rows.set(name, { injected: 0, survived: 0 });
  }

  /**
   * @param {readonly import("./proxy.mjs").Struck[]} struck
   * @param {boolean} survived
   */
  count(struck, survived) {
    this.#runs += 1;
    if (!survived) this.#failed += 1;
    for (const { kind, name } of struck) {
      const key = rowName(kind, name);
      const row = this.#rows.get(key) ?? { injected: 0, survived: 0 };
      row.injected += 1;
      if (survived) row.survived += 1;
      this.#rows.set(key, row);
    }
  }

  get sums() {
    const rows = [...this.#rows.values()];
    const sum = (/** @type {"injected" | "survived"} */ key) =>
      rows.reduce((total, row) => total + row[key], 0);
    return { runs: this.#runs, struck: sum("injected"), survived: sum("survived") };
  }

  /** @param {string} title */
  table(title) {
    const rows = [...this.#rows].map(([name, { injected, survived }]) =>
      line(name, injected, survived),
    );
    return [
      "",
      `${title}: ${this.#runs} runs, ${this.#runs - this.#failed} as they should be`,
      line("fault", "injected", "survived"),
      ...rows,
      line("all", this.sums.struck, this.sums.survived),
    ].join("\n");
  }
}

/**
 * @param {string} kind
 * @param {string} name
 */
function rowName(kind, name) {
  return `${kind}: ${name}`;
}

/**
 * @param {string} name
 * @param {string | number} injected
 * @param {string | number} survived
 */
function line(name, injected, survived) {
  return `${name.padEnd(46)}${String(injected).padStart(9)}${String(survived).padStart(10)}`;
}
