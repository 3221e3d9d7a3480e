// @ts-check
// One half of the whole suite of background processes: over this machine with dash.
import { localRuntime } from "sandpipe/node";

import { testBackground } from "./suite.mjs";

const open = async () => ({ runtime: localRuntime({ shell: "dash" }), close: () => undefined });

testBackground("this machine with dash", open, { part: "whole", groups: ["processes"] });
