// @ts-check
// A script means the same over SSH to a machine with busybox as here: what `sh -c` makes of it.
import { directoryWith, openSsh, testMeaning } from "./script-meaning.mjs";

testMeaning("SSH to a machine with busybox", () =>
  openSsh(`${directoryWith("busybox")}:${process.env["PATH"]}`),
);
