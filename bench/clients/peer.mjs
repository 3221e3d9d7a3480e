// @ts-check
/** Another SDK of the same interface: `PEER_MODULE` names a module that exports `connect(target)` as these do. */

export const { connect } = await import(/** @type {string} */ (process.env["PEER_MODULE"]));
