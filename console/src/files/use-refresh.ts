import { useEffect, useState } from "preact/hooks";
import type { FileTree } from "./file-tree.js";

/** How often what is in sight is read again, in milliseconds. */
const REFRESH = 3_000;

/** Reads the directories in sight again and again; returns how often that was done. */
export function useRefresh(tree: FileTree, isWanted: boolean): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (!isWanted) return;
    let timer: ReturnType<typeof setTimeout>;
    let left = false;
    const goOn = async () => {
      if (document.visibilityState === "visible") {
        await tree.refresh(false);
        setCount((before) => before + 1);
      }
      if (!left) timer = setTimeout(() => void goOn(), REFRESH);
    };
    void goOn();
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [tree, isWanted]);
  return count;
}
