import { useEffect, useRef, useState } from "preact/hooks";
import type { FileInfo, Files } from "sandpipe";
import { BlobParts } from "../download/blob-parts.js";
import { chunksOf } from "../download/chunks.js";
import { save } from "../download/save.js";
import { sizeText } from "./size-text.js";

/** Downloads files, byte for byte, and tells of it. */
export function useDownload(files: Files) {
  const [notice, setNotice] = useState("");
  const [error, setError] = useState<unknown>();
  const leaving = useRef(new AbortController());
  useEffect(
    () => () => {
      leaving.current.abort();
    },
    [],
  );

  async function begin(file: FileInfo) {
    const { signal } = leaving.current;
    setError(undefined);
    setNotice(`Getting ${file.name}…`);
    try {
      const parts = new BlobParts((size) => {
        setNotice(`Getting ${file.name}: ${sizeText(size)} of ${sizeText(file.size)}…`);
      });
      for await (const chunk of chunksOf(files.readStream(file, { signal }))) parts.add(chunk);
      save(parts.whole(), file.name);
      setNotice(`Downloaded ${file.name}.`);
    } catch (error) {
      if (signal.aborted) return;
      setNotice("");
      setError(error);
    }
  }

  return { notice, error, begin };
}
