// @ts-check

/** @import { Runtime } from "sandpipe" */

/**
 * Makes a runtime whose background processes time out when a file exists, whatever their
 * `timeoutMs`.
 *
 * @param {Runtime} runtime
 * @param {string} file
 * @returns {Runtime}
 */
export function timedBy(runtime, file) {
  const wait = `until [ -e "${file}" ]; do sleep 0.02; done`;
  return {
    // The line is in nested quotes, and has none itself (sh/watch.sh).
    run: (script, options) =>
      runtime.run(
        script.replace('sleep "$timeout"', () => wait),
        options,
      ),
  };
}
