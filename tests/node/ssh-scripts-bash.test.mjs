// @ts-check
// A script means the same over SSH with bash as here: what `sh -c` makes of it.
import { programsWithout } from "../support/target.mjs";
import { directoryWith, openSsh, testMeaning } from "./script-meaning.mjs";
import { SCRIPTS } from "./script-table.mjs";

testMeaning("SSH to a machine with bash", () =>
  openSsh(`${directoryWith("bash")}:${process.env["PATH"]}`),
);

testMeaning(
  "SSH to a machine with bash, and without setsid",
  () => openSsh(directoryWith("bash", programsWithout(["setsid", "sh"]))),
  { scripts: SCRIPTS.filter(({ leadsSession }) => !leadsSession) },
);
