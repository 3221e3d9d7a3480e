// @ts-check
import { testTargets } from "./targets.mjs";

testTargets("bash");
