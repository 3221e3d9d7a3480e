// @ts-check
/** What `npm test` is asked to do. */

import { parseArgs } from "node:util";

/** @import { Suite } from "./suites.mjs" */

export const USAGE = `Usage: npm test [-- [--all] [--repeat N] [--under-load] [--locale NAME] SUITE[:TEXT]…]

  SUITE          a suite; without one, all suites run
  SUITE:TEXT     only its files, or its Rust tests, whose names contain TEXT; SUITE:A SUITE:B: A or B
  --all          also runs what has passed here and has not changed since, as CI=true does
  --repeat N     runs each N times, and says which test failed how often
  --under-load   keeps the processors and the disk busy meanwhile
  --locale NAME  runs in a locale, such as de_DE.UTF-8; root generates it if need be`;

/** The arguments are wrong; the message says how. */
export class WrongArguments extends Error {}

/**
 * @typedef {object} Chosen
 * @property {Suite} suite
 * @property {string[]} texts only what has one of them in its name; none: everything
 */

/**
 * @typedef {object} Selection
 * @property {Chosen[]} chosen each suite once
 * @property {boolean} isAll nothing is left out because it has not changed
 * @property {boolean} isWhole no suite was named
 * @property {number} repeat
 * @property {boolean} isUnderLoad
 * @property {string} [locale]
 */

/**
 * @param {readonly string[]} args
 * @param {readonly Suite[]} suites
 * @param {{ isCI: boolean }} options
 * @returns {Selection}
 */
export function selectionOf(args, suites, { isCI }) {
  const { values, positionals } = parse(args);
  const repeat = Number(values.repeat);
  if (!Number.isSafeInteger(repeat) || repeat < 1) {
    throw new WrongArguments(`--repeat ${values.repeat}: it must be a whole number from 1 on.`);
  }
  const named = chosenBy(positionals, suites);
  const isWhole = named.length === 0;
  const all = suites.filter(({ isOnlyNamed = false }) => !isOnlyNamed);
  return {
    chosen: isWhole ? all.map((suite) => ({ suite, texts: [] })) : named,
    // Who names a suite wants it to run, and who repeats it, too.
    isAll: values.all || isCI || !isWhole || repeat > 1,
    isWhole,
    repeat,
    isUnderLoad: values["under-load"],
    ...(values.locale === undefined ? {} : { locale: values.locale }),
  };
}

/**
 * Suites that run twice at a time would write the same files.
 *
 * @param {readonly string[]} positionals
 * @param {readonly Suite[]} suites
 * @returns {Chosen[]}
 */
function chosenBy(positionals, suites) {
  /** @type {Map<string, string[]>} */
  const textsOf = new Map();
  for (const typed of positionals) {
    const [name = "", ...text] = typed.split(":");
    textsOf.set(name, [...(textsOf.get(name) ?? []), text.join(":")]);
  }
  return [...textsOf].map(([name, texts]) => {
    const suite = suites.find((suite) => suite.name === name);
    if (suite === undefined) {
      const known = suites.map((suite) => suite.name).join(", ");
      throw new WrongArguments(`There is no suite "${name}", only: ${known}.`);
    }
    // Named without a text, it runs as a whole.
    return { suite, texts: texts.includes("") ? [] : texts };
  });
}

/** @param {readonly string[]} args */
function parse(args) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        all: { type: "boolean", default: false },
        repeat: { type: "string", default: "1" },
        "under-load": { type: "boolean", default: false },
        locale: { type: "string" },
      },
      allowPositionals: true,
    });
  } catch (error) {
    throw new WrongArguments(/** @type {Error} */ (error).message);
  }
}
