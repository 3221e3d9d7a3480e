// @ts-check
// As sandpipe.mjs, with strings by TextDecoder alone: what src/web/text/builtins.wat is worth.
export { connect } from "./sandpipe.mjs";

WebAssembly.Module = new Proxy(WebAssembly.Module, {
  construct(Module, [bytes, options]) {
    if (options?.builtins) throw new WebAssembly.CompileError("There are no builtins");
    return new Module(bytes);
  },
});
