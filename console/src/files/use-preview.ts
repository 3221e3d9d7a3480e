import { useEffect, useState } from "preact/hooks";
import type { FileInfo, Files } from "sandpipe";
import { previewOf, type Preview } from "./preview.js";

/** What there is to see of a file: read again when it has changed, and what was there stays meanwhile. */
export function usePreview(files: Files, file: FileInfo, raw: string) {
  const [preview, setPreview] = useState<{ raw: string; preview: Preview }>();
  const [error, setError] = useState<unknown>();
  const { size, modTime, type } = file;

  useEffect(() => {
    const leaving = new AbortController();
    previewOf(files, file, raw, leaving.signal).then(
      (preview) => {
        if (leaving.signal.aborted) return;
        setPreview({ raw, preview });
        setError(undefined);
      },
      (error: unknown) => {
        if (!leaving.signal.aborted) setError(error);
      },
    );
    return () => {
      leaving.abort();
    };
  }, [files, raw, size, modTime, type]);

  return { preview: preview?.raw === raw ? preview.preview : undefined, error };
}
