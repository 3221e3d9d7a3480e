// @ts-check
// A script means the same over SSH to a machine without setsid as here: what `sh -c` makes of it.
import { programsWithout } from "../support/target.mjs";
import { directoryWith, openSsh, testMeaning } from "./script-meaning.mjs";

testMeaning(
  "SSH to a machine with bash, and without setsid",
  () => openSsh(directoryWith("bash", programsWithout(["setsid", "sh"]))),
  { without: ({ leadsSession }) => leadsSession === true },
);
