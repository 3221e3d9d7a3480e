// @ts-check
// A script means the same over SSH as here: what `sh -c` makes of it.
import { directoryWith, openSsh, testMeaning } from "./script-meaning.mjs";

for (const shell of ["dash", "busybox"]) {
  testMeaning(`SSH to a machine with ${shell}`, () =>
    openSsh(`${directoryWith(shell)}:${process.env["PATH"]}`),
  );
}
