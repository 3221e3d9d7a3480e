import { hasFiles } from "./dropped.js";

/** Has nothing come of files that no part of the page takes: a browser would leave the page to show what is dropped. */
export function refuseStrayDrops(): void {
  const refuse = (event: DragEvent) => {
    if (event.defaultPrevented || !hasFiles(event.dataTransfer)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "none";
  };
  addEventListener("dragover", refuse);
  addEventListener("drop", refuse);
}
