// @ts-check
import { isSandpipeError } from "sandpipe";

/** Makes what says whether an error is that of a call whose signal was aborted for this reason. @param {unknown} reason */
export const interruptedBy = (reason) => (/** @type {unknown} */ error) =>
  isSandpipeError(error, "interrupted") && error.cause === reason;
