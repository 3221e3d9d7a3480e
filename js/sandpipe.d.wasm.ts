import type { WasmModule } from "./platform.js";

/** The core, where a static import gives a compiled module: in edge workers, for the option `wasm`. */
declare const module: WasmModule;
export default module;
