// @ts-check
// Background processes over this machine with bash: how they are made and ended.
import { localRuntime } from "sandpipe/node";

import { testBackground } from "./suite.mjs";

const open = async () => ({ runtime: localRuntime({ shell: "bash" }), close: () => undefined });

testBackground("this machine with bash", open, { part: "shell", groups: ["processes"] });
