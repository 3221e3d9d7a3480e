import type { Files } from "sandpipe";
import { Store } from "../store.js";
import { keep, kept } from "../tab-storage.js";
import { above, common, isWithin, parentOf, rawOfFile } from "./raw-path.js";
import { inOrder, type Listing } from "./rows.js";

/** A directory with more names than that is read again only when somebody asks. */
const MAX_POLLED = 2_000;

/** How many directories stay expanded over a reload. */
const MAX_KEPT = 100;

/** The read of a directory that is under way, and the one that follows: what changed meanwhile may not be in the first. */
interface Reading {
  now: Promise<void>;
  next?: Promise<void>;
}

/** The directories that are shown, below one of them: what is in each is read when it is first expanded. */
export class FileTree {
  /** The agent's workspace; undefined until it is known. */
  readonly workspace = new Store<string | undefined>(undefined);
  /** Why there are no files to be seen here at all. */
  readonly error = new Store<unknown>(undefined);
  /** What the tree begins with. */
  readonly root = new Store<string | undefined>(undefined);
  readonly listings = new Store<ReadonlyMap<string, Listing>>(new Map());
  readonly expanded: Store<ReadonlySet<string>>;
  readonly #files: Files;
  readonly #reads = new Map<string, Reading>();

  constructor(files: Files) {
    this.#files = files;
    const before = kept("expanded");
    const expanded = Array.isArray(before) ? before.filter((raw) => typeof raw === "string") : [];
    this.expanded = new Store<ReadonlySet<string>>(new Set(expanded));
  }

  /** Finds the workspace. It is asked for again where that failed. */
  async open(): Promise<void> {
    if (this.workspace.value !== undefined) return;
    try {
      const workspace = rawOfFile(await this.#files.stat("."));
      this.workspace.set(workspace);
      this.error.set(undefined);
      this.show(this.root.value ?? workspace);
    } catch (error) {
      this.error.set(error);
    }
  }

  /** Begins with a directory. */
  show(root: string): void {
    this.root.set(root);
    void this.read(root);
  }

  /** Has the tree show a path: it begins further up where that takes it, and what the path is in is expanded. */
  reveal(raw: string): void {
    const before = this.root.value ?? this.workspace.value;
    if (before === undefined) return;
    const root = common(before, raw);
    if (root !== before || this.root.value === undefined) this.show(root);
    for (const directory of above(raw)) {
      if (directory !== root && isWithin(directory, root)) this.expand(directory);
    }
  }

  expand(directory: string): void {
    if (this.expanded.value.has(directory)) return;
    this.#setExpanded([...this.expanded.value, directory]);
    void this.read(directory);
  }

  collapse(directory: string): void {
    this.#setExpanded([...this.expanded.value].filter((raw) => raw !== directory));
  }

  /**
   * Reads what is in a directory. What was there stays meanwhile. However often this is called, one read is under way
   * and one follows.
   */
  read(directory: string): Promise<void> {
    const reading = this.#reads.get(directory);
    if (reading === undefined) return this.#begin(directory);
    return (reading.next ??= reading.now.then(() => this.#begin(directory)));
  }

  /** Shows a file that is new or has changed: reads its directory, or what is further up if that is not there yet. */
  async readFor(raw: string): Promise<void> {
    let child = raw;
    let directory = parentOf(raw);
    while (!this.listings.value.has(directory)) {
      if (directory === "/") return;
      child = directory;
      directory = parentOf(directory);
    }
    const { files = [] } = this.listings.value.get(directory) ?? {};
    if (child === raw || !files.some((file) => rawOfFile(file) === child)) {
      await this.read(directory);
    }
  }

  #begin(directory: string): Promise<void> {
    const reading: Reading = { now: this.#list(directory) };
    this.#reads.set(directory, reading);
    void reading.now.then(() => {
      if (reading.next === undefined) this.#reads.delete(directory);
    });
    return reading.now;
  }

  async #list(directory: string): Promise<void> {
    const before = this.listings.value.get(directory);
    if (before === undefined) this.#set(directory, { files: [], isLoading: true });
    try {
      const files = inOrder(await this.#files.list({ raw: directory }));
      this.#set(directory, { files, isLoading: false });
    } catch (error) {
      this.#set(directory, { files: before?.files ?? [], isLoading: false, error });
    }
  }

  /** Reads all again that is in sight; without those that are very long, unless all are wanted. */
  async refresh(all: boolean): Promise<void> {
    await this.open();
    const root = this.root.value;
    if (root === undefined) return;
    const isInSight = (directory: string) =>
      isWithin(directory, root) &&
      above(directory).every((raw) => raw === root || !isWithin(raw, root) || this.#has(raw));
    for (const directory of [root, ...this.expanded.value].filter(isInSight)) {
      const { length = 0 } = this.listings.value.get(directory)?.files ?? {};
      if (all || length <= MAX_POLLED) await this.read(directory);
    }
  }

  #has(directory: string): boolean {
    return this.expanded.value.has(directory);
  }

  #set(directory: string, listing: Listing): void {
    this.listings.update((before) => new Map(before).set(directory, listing));
  }

  #setExpanded(expanded: readonly string[]): void {
    this.expanded.set(new Set(expanded));
    keep("expanded", expanded.slice(-MAX_KEPT));
  }
}
