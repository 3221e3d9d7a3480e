// @ts-check
/**
 * A row is one application: what it has installed, its files, and the ways in which it does the main job. Its
 * parts are the lines of the table.
 *
 * @typedef {object} Row
 * @property {string} name such as `Vite 5`
 * @property {string} family the heading that it is under
 * @property {true | readonly string[]} [quick] all of its parts, or these, are part of `npm test` too: the workspace has
 * what it installs
 * @property {Record<string, string>} [install] what it installs beside the package: names and versions
 * @property {boolean} [bare] it installs the package by itself
 * @property {Record<string, string>} [files] its own, beside those of `inside/`
 * @property {(app: Application) => string | Promise<string>} version what the table names, with its version
 * @property {(app: Application) => Promise<unknown>} [prepare] what comes before all parts, such as a build
 * @property {Record<string, (app: Application) => Promise<unknown>>} parts each gives what the job found
 * @property {Record<string, Workaround>} [workarounds] of parts that don't work by themselves
 *
 * @typedef {object} Workaround the one line that a part works with
 * @property {string} text the line, as the documentation has it
 * @property {RegExp} error what the error without the line says: it leads to the line
 * @property {Record<string, string>} files the files that have the line
 *
 * @typedef {object} Result of a part
 * @property {string} family
 * @property {string} row
 * @property {string} part
 * @property {string} version
 * @property {string} [workaround] the line that it needed
 * @property {string} [failure]
 * @property {number} ms
 */

import { Application } from "./application.mjs";
import { differences } from "./expected.mjs";

/** Longer than any step takes, also on a slow machine: what hangs fails. */
const STEP_TIMEOUT_MS = 300_000;

/**
 * @typedef {object} RowContext
 * @property {import("./inside/job.mjs").Agent} agent
 * @property {import("./packages.mjs").Tarballs} tarballs
 * @property {import("./expected.mjs").Found} expected
 * @property {import("./browsers/visits.mjs").Visits} visits
 * @property {"registry" | "workspace"} tools where what a row installs beside the package comes from
 *
 * @param {Row} row
 * @param {RowContext} context
 * @param {(result: Result) => void} onResult
 */
export async function runRow(row, context, onResult) {
  const app = await Application.create(context);
  let version = row.name;
  try {
    const prepared = await failureOf(app, async () => {
      await app.write(row.files ?? {});
      await app.install(row.install ?? {}, { bare: row.bare ?? false });
      version = await row.version(app);
      await row.prepare?.(app);
    });
    for (const [part, run] of Object.entries(row.parts)) {
      const start = performance.now();
      const attempt = () =>
        failureOf(app, async () => {
          const different = differences(await run(app), context.expected);
          if (different.length > 0) throw new Error(different.join("; "));
        });
      let failure = prepared ?? (await attempt());
      const workaround = row.workarounds?.[part];
      let used;
      if (failure !== undefined && workaround !== undefined) {
        const isExpected = workaround.error.test(failure);
        const second = await failureOf(app, async () => {
          await app.write(workaround.files);
          await row.prepare?.(app);
        });
        const withWorkaround = second ?? (await attempt());
        if (withWorkaround === undefined) {
          used = workaround.text;
          failure = isExpected ? undefined : `the error without the line is another: ${failure}`;
        } else {
          failure = withWorkaround;
        }
      }
      onResult({
        ...{ family: row.family, row: row.name, part, version },
        ...(used === undefined ? {} : { workaround: used }),
        ...(failure === undefined ? {} : { failure }),
        ms: performance.now() - start,
      });
    }
  } finally {
    await app.remove();
  }
}

/**
 * @param {Application} app
 * @param {() => Promise<void>} work
 * @returns {Promise<string | undefined>} why it failed, with paths from the application's folder
 */
async function failureOf(app, work) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const timeout = new Promise((_, reject) => {
    const late = new Error(`nothing for ${STEP_TIMEOUT_MS / 1000} s`);
    timer = setTimeout(() => reject(late), STEP_TIMEOUT_MS);
  });
  try {
    await Promise.race([work(), timeout]);
    return undefined;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return text.replaceAll(`${app.path}/`, "").replaceAll(`${app.folder}/`, "");
  } finally {
    clearTimeout(timer);
    // A part leaves nothing to the next one.
    await app.stopProcesses();
  }
}
