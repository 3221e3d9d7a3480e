// @ts-check
/** Package managers: each installs the packages in an application of its own, and runs program and command line. */

/**
 * @typedef {import("../row.mjs").Row} Row
 * @typedef {import("../application.mjs").Application} Application
 */

/** Where nothing of the manager itself is found. */
const cwd = "project";

const files = {
  "project/main.mjs": `
    import { connect } from "sandpipe";
    import { runInProgram } from "../in-program.mjs";
    await runInProgram(connect);
  `,
};
