import { useEffect, useRef, useState } from "preact/hooks";
import type { ExecItem, Execs } from "sandpipe";
import { hasEnded } from "../runs/status.js";
import { save } from "../download/save.js";
import { wholeOutput } from "./download.js";
import type { Output } from "./output.js";

/** Copies and downloads an output, and tells of it. */
export function useTransfer(execs: Execs, item: ExecItem, output: Output) {
  const [notice, setNotice] = useState("");
  const [error, setError] = useState<unknown>();
  const leaving = useRef(new AbortController());

  useEffect(() => {
    setNotice("");
    setError(undefined);
    const controller = new AbortController();
    leaving.current = controller;
    return () => {
      controller.abort();
    };
  }, [output]);

  async function download() {
    const ended = output.status.value.exitCode !== undefined || hasEnded(item);
    setNotice("Getting the output…");
    setError(undefined);
    try {
      const upTo = ended ? undefined : output.last;
      const blob = await wholeOutput(execs, item.id, upTo, (size) => {
        setNotice(`Getting the output: ${Math.round(size / 1e6)} MB…`);
      });
      save(blob, `${item.id}.txt`);
      setNotice(ended ? "Downloaded." : "Downloaded, up to now.");
    } catch (error) {
      setNotice("");
      setError(error);
    }
  }

  async function copy() {
    setNotice("Getting the text…");
    setError(undefined);
    const copied = output.copied(leaving.current.signal);
    const text = copied.then(({ text }) => new Blob([text], { type: "text/plain" }));
    try {
      // Begun at once: a browser lets a page write only shortly after a click.
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": text })]);
      setNotice((await copied).told);
    } catch (cause) {
      setNotice("");
      const failed = await copied.then(
        () => undefined,
        (error: unknown) => error,
      );
      // Browsers give a page the clipboard over https, and on this machine.
      const message = "The browser does not let this page copy. Download has all of it.";
      setError(failed ?? new Error(message, { cause }));
    }
  }

  return { notice, error, download, copy };
}
