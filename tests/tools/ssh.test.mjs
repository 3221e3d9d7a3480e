// @ts-check
// The tools over SSH.
import { openSshRuntime } from "../support/sshd.mjs";
import { testTools } from "./suite.mjs";

testTools("a machine over SSH", openSshRuntime, { part: "runtime" });
