// @ts-check
import { startAgent } from "sandpipe/node";

/**
 * A real agent, on a free port.
 *
 * @param {{ allowOrigin?: string }} [options] `allowOrigin`: the page that may use it
 */
export function startTestAgent({ allowOrigin } = {}) {
  return startAgent({ args: allowOrigin === undefined ? [] : ["--allow-origin", allowOrigin] });
}
