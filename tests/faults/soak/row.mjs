// @ts-check
/**
 * @typedef {object} Scenario
 * @property {string} name what it is called on the command line
 * @property {(deadline: number) => Promise<Row[]>} run begins no run after `deadline`, as `performance.now()`
 * has it; each row has one run at least
 */

/** A run that takes longer than this hangs. */
const RUN_TIMEOUT_MS = 300_000;

/** What came of the runs of one kind. */
export class Row {
  runs = 0;
  /** Faults that took place. */
  struck = 0;
  /** Those of the runs that ended as they should. */
  survived = 0;
  /** What was not as it should be, and the first time that it was so. @type {Map<string, number>} */
  broken = new Map();
  /** Why there was no run. @type {string | undefined} */
  skipped;

  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }

  /**
   * @param {string} name
   * @param {string} reason
   */
  static skipped(name, reason) {
    const row = new Row(name);
    row.skipped = reason;
    return row;
  }

  get brokenPromises() {
    return [...this.broken.values()].reduce((sum, count) => sum + count, 0);
  }

  /**
   * Runs again and again, once at least.
   *
   * @param {number} deadline
   * @param {(promises: Promises, run: number) => Promise<void>} work
   */
  async repeat(deadline, work) {
    do await this.once((promises) => work(promises, this.runs));
    while (performance.now() < deadline);
    return this;
  }

  /** @param {(promises: Promises) => Promise<void>} work */
  async once(work) {
    const promises = new Promises();
    await promises.keeps("the run ends", RUN_TIMEOUT_MS, () => work(promises));
    const { struck, broken } = promises;
    this.add({ runs: 1, struck, survived: broken.length === 0 ? struck : 0 }, broken);
  }

  /**
   * Counts runs.
   *
   * @param {{ runs: number, struck: number, survived: number }} sums
   * @param {readonly unknown[]} broken
   */
  add({ runs, struck, survived }, broken) {
    this.runs += runs;
    this.struck += struck;
    this.survived += survived;
    for (const what of broken.map(String)) {
      if (!this.broken.has(what)) console.error(`  ${this.name}: ${what}`);
      this.broken.set(what, (this.broken.get(what) ?? 0) + 1);
    }
  }
}

/** What one run saw. */
export class Promises {
  /** Faults that took place. */
  struck = 0;
  /** @type {string[]} */
  broken = [];

  /**
   * Something that has to come true within a time, and not to throw.
   *
   * @template T
   * @param {string} what
   * @param {number} milliseconds
   * @param {() => Promise<T>} work
   * @returns {Promise<T | undefined>}
   */
  async keeps(what, milliseconds, work) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not within ${milliseconds} ms`)), milliseconds);
    });
    try {
      return /** @type {T} */ (await Promise.race([work(), late]));
    } catch (error) {
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      this.broken.push(`${what}: ${oneLine(reason)}`);
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * The same for the same trouble.
 *
 * @param {string} message
 */
function oneLine(message) {
  const plain = message
    .replaceAll(/\b[\da-f]{12,}\b/g, "ID")
    .replaceAll(/127\.0\.0\.1:\d+/g, "AGENT");
  return plain.replaceAll(/\s+/g, " ").slice(0, 300);
}
