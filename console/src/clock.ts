import { useEffect } from "preact/hooks";
import { Store, useStore } from "./store.js";

const clock = new Store(Date.now());
let readers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** The time, each second, in milliseconds: the same for all that show it. */
export function useNow(): number {
  useEffect(() => {
    if (readers++ === 0) {
      clock.set(Date.now());
      timer = setInterval(() => {
        clock.set(Date.now());
      }, 1000);
    }
    return () => {
      if (--readers === 0) clearInterval(timer);
    };
  }, []);
  return useStore(clock);
}
