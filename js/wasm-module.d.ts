/** What the edge runtime of Vercel and Next.js gives for a WebAssembly file: it is compiled. */
declare module "*.wasm?module" {
  const module: WebAssembly.Module;
  export default module;
}
