// Not part of load.ts: bundlers for edge workers refuse a program that could compile WebAssembly.
import { isModule, type WasmSource } from "./load.js";

/**
 * Compiles the module that something else than an address gives.
 *
 * @internal
 */
export async function compile(
  source: Exclude<WasmSource, URL | string>,
): Promise<WebAssembly.Module> {
  if (isModule(source)) return source;
  if (source instanceof Response) return compileResponse(source);
  return WebAssembly.compile(source as BufferSource);
}

/**
 * Compiles the module that an answer has, while it arrives if the server names its type.
 *
 * @internal
 */
export async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  const type = response.headers.get("content-type") ?? "unknown type";
  if (response.ok && type === "application/wasm") return WebAssembly.compileStreaming(response);
  const bytes = await response.arrayBuffer();
  const from = response.url === "" ? "the response" : response.url;
  if (!response.ok) throw new Error(`${from} has the status ${response.status}`);
  // A development server answers with a page what it does not have.
  if (!isWasm(bytes)) throw new Error(`${from} is not WebAssembly, but ${type}`);
  return WebAssembly.compile(bytes);
}

function isWasm(bytes: ArrayBuffer): boolean {
  const magic = new Uint8Array(bytes).subarray(0, 4);
  return String.fromCharCode(...magic) === "\0asm";
}
