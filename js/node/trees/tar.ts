// The package tar-stream, which is put into this file.
/** @internal */
export { extract } from "tar-stream";
