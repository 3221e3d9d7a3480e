import { useEffect, useState } from "preact/hooks";

/** A window in which a list and what is selected in it are views of their own. */
export const NARROW = "(max-width: 719px)";

/** Whether a media query is true of the window, now and whenever that changes. */
export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const read = () => {
      setMatches(list.matches);
    };
    read();
    list.addEventListener("change", read);
    return () => {
      list.removeEventListener("change", read);
    };
  }, [query]);
  return matches;
}
