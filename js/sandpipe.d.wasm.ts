/** The core, where a static import gives a compiled module: in edge workers, for the option `wasm`. */
declare const module: WebAssembly.Module;
export default module;
