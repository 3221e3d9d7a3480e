import type { Screen } from "./screen.js";

/** The terminal's file could not be loaded. */
export class ScreenNotLoaded extends Error {}

/**
 * Loads the class of screens. xterm.js is most of the console's scripts, and nothing is shown on a screen before the
 * agent has answered: it is a file of its own, which the first view does not wait for.
 *
 * @throws {ScreenNotLoaded}
 */
export async function loadScreen(): Promise<typeof Screen> {
  try {
    const { Screen } = await import("./screen.js");
    return Screen;
  } catch (cause) {
    throw new ScreenNotLoaded("The terminal could not be loaded. Reload the page.", { cause });
  }
}
