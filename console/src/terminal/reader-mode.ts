/** Where the browser keeps it. */
const READER = "sandpipe.screen-reader";

/** Whether what is shown is also there for screen readers, which costs time. Kept in the browser. */
export function screenReaderMode(): boolean {
  return localStorage.getItem(READER) === "on";
}

export function setScreenReaderMode(on: boolean): void {
  if (on) localStorage.setItem(READER, "on");
  else localStorage.removeItem(READER);
}
