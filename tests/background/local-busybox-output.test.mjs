// @ts-check
// Background processes over this machine with busybox: how they are followed.
import { openBusybox } from "./shells.mjs";
import { testBackground } from "./suite.mjs";

testBackground("this machine with nothing but busybox", openBusybox, {
  part: "shell",
  groups: ["output"],
});
