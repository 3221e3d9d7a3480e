import { useEffect, useState } from "preact/hooks";

/** A value that changes, and those who are told of it. */
export class Store<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener();
  }

  update(change: (before: T) => T): void {
    this.set(change(this.#value));
  }

  /** Calls back after each change; what it returns ends that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}

/** The value of a store; the component is rendered again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, setRendered] = useState(store.value);
  useEffect(() => {
    // An updater, for the value may be a function.
    const read = () => {
      setRendered(() => store.value);
    };
    read();
    return store.subscribe(read);
  }, [store]);
  return store.value;
}
