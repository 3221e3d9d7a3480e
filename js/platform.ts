/**
 * Types of the platform: as the program's type libraries have them, such as TypeScript's DOM or
 * `@types/node`; where it has none of these, the part that this package uses.
 */

/** Tells a call to stop. */
export type AbortSignal = typeof globalThis extends { AbortSignal: { prototype: infer T } }
  ? T
  : {
      readonly aborted: boolean;
      readonly reason?: unknown;
      addEventListener(type: "abort", listener: () => void): void;
      removeEventListener(type: "abort", listener: () => void): void;
    };

/** An address. */
export type URL = typeof globalThis extends { URL: { prototype: infer T } }
  ? T
  : { readonly href: string };

/** A stream that is read chunk by chunk. */
export interface ReadableStream<T> {
  getReader(): {
    read(): Promise<{ done: boolean; value?: T }>;
    cancel(): Promise<void>;
  };
}

/** The bytes of a file as they come: the platform's `ReadableStream<Uint8Array>`. */
export type ByteStream = {
  getReader(): {
    read(): Promise<{ done: false; value: Uint8Array } | { done: true; value?: undefined }>;
    cancel(reason?: unknown): Promise<void>;
    releaseLock(): void;
  };
} & PlatformStream;

type PlatformStream = typeof globalThis extends { ReadableStream: { prototype: infer T } }
  ? T
  : object;

/** What `fetch` resolves. */
export type Response = typeof globalThis extends { Response: { prototype: infer T } }
  ? T
  : { readonly status: number; arrayBuffer(): Promise<ArrayBuffer> };

/** A compiled WebAssembly module. */
export type WasmModule = typeof globalThis extends {
  WebAssembly: { Module: { prototype: infer T } };
}
  ? T
  : object;

/** The global `fetch`. */
export type Fetch = typeof globalThis extends { fetch: infer T }
  ? T
  : (url: string, init: object) => Promise<Response>;

/** Bytes, as WebAssembly is compiled from. */
export type BufferSource = typeof globalThis extends {
  WebAssembly: { validate(bytes: infer T): boolean };
}
  ? T
  : ArrayBuffer | ArrayBufferView;
