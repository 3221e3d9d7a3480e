// The package tar-stream, which is put into this file: once for what packs and what unpacks.
/** @internal */
export { extract, pack } from "tar-stream";
