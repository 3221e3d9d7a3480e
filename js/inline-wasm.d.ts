/** The bytes of sandpipe.wasm, with gzip, in base64. scripts/build/package.mjs makes the module. */
export declare const gzipBase64: string;
