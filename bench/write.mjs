// @ts-check
/** `node -- write.mjs WORKLOAD FILE` writes a workload to a file and prints what is in it as one line of JSON. */

import { writeFileSync } from "node:fs";
import { expectedOf, workloadOf } from "./workloads.mjs";

const [workload, file] = /** @type {[string, string]} */ (process.argv.slice(2));
const outputs = workloadOf(workload).outputs();
writeFileSync(file, outputs.join(""));
console.log(JSON.stringify(expectedOf(outputs)));
