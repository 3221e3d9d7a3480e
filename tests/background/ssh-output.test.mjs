// @ts-check
// Background processes over SSH: how they are followed.
import { openSshRuntime } from "../support/sshd.mjs";
import { testBackground } from "./suite.mjs";

testBackground("a machine over SSH", openSshRuntime, { part: "runtime", groups: ["output"] });
