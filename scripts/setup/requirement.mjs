// @ts-check

/** This machine lacks something that its user has to bring; the message says what to do. */
export class RequirementMissing extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = "RequirementMissing";
  }
}
