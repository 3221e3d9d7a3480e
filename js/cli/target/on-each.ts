import type { Outcome, StandardOutput } from "../ending/ending.js";
import { errorLine } from "../command-line/error-line.js";
import { failureOf } from "../ending/failed.js";

/** Does something with each of several ids at once, and says on stderr what it could not be done with. */
export async function onEach(
  ids: readonly string[],
  { stderr }: StandardOutput,
  act: (id: string) => Promise<unknown>,
): Promise<Outcome> {
  const failures = await Promise.all(
    ids.map(async (id) => {
      try {
        await act(id);
        return false;
      } catch (error) {
        await stderr.write(errorLine(failureOf(id, error)));
        return true;
      }
    }),
  );
  return { exitCode: failures.includes(true) ? 1 : 0 };
}
