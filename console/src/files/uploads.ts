import { isSandpipeError, type Files } from "sandpipe";
import { Store } from "../store.js";
import { within } from "./raw-path.js";

/** A browser has few connections. */
const AT_ONCE = 2;

/** A file to be uploaded: `name` may have directories before it. */
export interface Source {
  name: string;
  file: File;
}

export type UploadState =
  | { kind: "waiting" }
  | { kind: "sending"; bytes: number }
  | { kind: "done" }
  /** There is a file of that name: whoever uploads says whether it is replaced. */
  | { kind: "exists" }
  | { kind: "failed"; error: unknown };

/** A file on its way to the agent, or there. */
export interface Upload extends Source {
  key: number;
  directory: string;
  state: UploadState;
}

/** Uploads files, some at a time. One that is there already is replaced only where that is asked for. */
export class Uploads {
  readonly store = new Store<readonly Upload[]>([]);
  readonly #files: Files;
  readonly #onDone: (raw: string) => void;
  readonly #sending = new Map<number, AbortController>();
  readonly #replacing = new Set<number>();
  #count = 0;

  /** @param onDone Told the path of each file that is there then. */
  constructor(files: Files, onDone: (raw: string) => void) {
    this.#files = files;
    this.#onDone = onDone;
  }

  add(directory: string, sources: readonly Source[]): void {
    const added = sources.map((source) => ({
      ...source,
      key: ++this.#count,
      directory,
      state: { kind: "waiting" } as const,
    }));
    this.store.update((before) => [...before, ...added]);
    this.#next();
  }

  /** Uploads one in the place of the file that is there. */
  replace(key: number): void {
    this.#replacing.add(key);
    this.#set(key, { kind: "waiting" });
    this.#next();
  }

  /** Ends it: of one that is not there yet nothing is left. */
  drop(key: number): void {
    this.#sending.get(key)?.abort();
    this.store.update((before) => before.filter((upload) => upload.key !== key));
  }

  /** Takes those from the list that are over. */
  clear(): void {
    this.store.update((before) => before.filter(isUnderWay));
  }

  close(): void {
    for (const sending of this.#sending.values()) sending.abort();
    this.store.set([]);
  }

  #next(): void {
    while (this.#sending.size < AT_ONCE) {
      const next = this.store.value.find(({ state }) => state.kind === "waiting");
      if (next === undefined) return;
      const controller = new AbortController();
      this.#sending.set(next.key, controller);
      this.#set(next.key, { kind: "sending", bytes: 0 });
      void this.#send(next, controller.signal).finally(() => {
        this.#sending.delete(next.key);
        this.#next();
      });
    }
  }

  async #send({ key, directory, name, file }: Upload, signal: AbortSignal): Promise<void> {
    const raw = within(directory, name);
    try {
      await this.#files.write({ raw }, file, {
        create: this.#replacing.has(key) ? "always" : "new",
        signal,
        onProgress: ({ bytes }) => {
          this.#set(key, { kind: "sending", bytes });
        },
      });
      this.#set(key, { kind: "done" });
      this.#onDone(raw);
    } catch (error) {
      if (signal.aborted) return;
      const exists = isSandpipeError(error, "http") && error.status === 412;
      this.#set(key, exists ? { kind: "exists" } : { kind: "failed", error });
    }
  }

  #set(key: number, state: UploadState): void {
    this.store.update((before) =>
      before.map((upload) => (upload.key === key ? { ...upload, state } : upload)),
    );
  }
}

/** Whether it is not over, or waits for an answer. */
export function isUnderWay({ state }: Upload): boolean {
  return state.kind === "waiting" || state.kind === "sending" || state.kind === "exists";
}
