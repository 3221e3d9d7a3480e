import { useEffect, useRef, useState } from "preact/hooks";
import type { FileInfo, Files } from "sandpipe";

/**
 * What there is to know of a path; the same as before for as long as nothing has changed.
 *
 * @param version It is asked for again with each.
 */
export function useFile(
  files: Files,
  raw: string | undefined,
  version: number,
  isAsked: boolean,
): { file: FileInfo | undefined; error: unknown } {
  const [known, setKnown] = useState<{ raw: string; file?: FileInfo; error?: unknown }>();
  const newest = useRef(0);

  useEffect(() => {
    if (raw === undefined || !isAsked) return;
    const request = ++newest.current;
    files.stat({ raw }).then(
      (file) => {
        if (request !== newest.current) return;
        setKnown((before) =>
          before?.raw === raw && isSame(before.file, file) ? before : { raw, file },
        );
      },
      (error: unknown) => {
        if (request === newest.current) setKnown({ raw, error });
      },
    );
  }, [files, raw, version, isAsked]);

  return known?.raw === raw ? { file: known?.file, error: known?.error } : NOTHING;
}

const NOTHING = { file: undefined, error: undefined };

function isSame(one: FileInfo | undefined, other: FileInfo): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
