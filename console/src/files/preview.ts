import type { FileInfo, Files } from "sandpipe";
import { chunksOf } from "../download/chunks.js";

/** How much of a text is shown, in bytes. */
export const MAX_TEXT = 256 * 1024;

/** How large a picture may be that is shown, in bytes. */
export const MAX_PICTURE = 8 * 1024 * 1024;

/** What there is to see of a file. */
export type Preview =
  | { kind: "text"; text: string; isAll: boolean }
  | { kind: "picture"; address: string }
  | { kind: "empty" }
  /** `large`: it is a picture, and too large to be shown. */
  | { kind: "binary"; large: boolean }
  /** It is no file that can be read. */
  | { kind: "special"; name: string };

const SPECIAL: Readonly<Partial<Record<string, string>>> = {
  fifo: "a FIFO",
  socket: "a socket",
  device: "a device",
};

/** Whether it has content, to be shown and downloaded. */
export function isReadable({ type, isDir }: FileInfo): boolean {
  return !isDir && SPECIAL[type ?? "file"] === undefined;
}

/** Reads as much of a file as is shown of it. */
export async function previewOf(
  files: Files,
  file: FileInfo,
  raw: string,
  signal: AbortSignal,
): Promise<Preview> {
  const special = SPECIAL[file.type ?? "file"];
  if (special !== undefined) return { kind: "special", name: special };
  // One byte more, to see whether that is all: the size of some files is not known.
  const stream = files.readStream({ raw }, { length: MAX_TEXT + 1, signal });
  const chunks: BlobPart[] = [];
  // They are never in shared memory.
  for await (const chunk of chunksOf(stream)) chunks.push(chunk as BlobPart);
  const begin = new Uint8Array(await new Blob(chunks).arrayBuffer());
  const type = pictureType(begin);
  if (type !== undefined) {
    if (file.size > MAX_PICTURE) return { kind: "binary", large: true };
    const bytes = begin.length > MAX_TEXT ? await files.bytes({ raw }, { signal }) : begin;
    return { kind: "picture", address: await dataAddress(bytes, type) };
  }
  return textPreview(begin);
}

/** What is shown of a file that begins with these bytes, which are all where they are no more than {@link MAX_TEXT}. */
export function textPreview(begin: Uint8Array): Preview {
  if (begin.length === 0) return { kind: "empty" };
  const isAll = begin.length <= MAX_TEXT;
  const bytes = begin.subarray(0, MAX_TEXT);
  if (bytes.includes(0)) return { kind: "binary", large: false };
  try {
    // A character may be cut at the end of a part.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !isAll });
    return { kind: "text", text, isAll };
  } catch {
    return { kind: "binary", large: false };
  }
}

/** The type of a picture that browsers show, by its first bytes: a name may say anything. */
export function pictureType(bytes: Uint8Array): string | undefined {
  const begin = String.fromCharCode(...bytes.subarray(0, 12));
  if (begin.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (begin.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(begin)) return "image/gif";
  if (/^RIFF[^]{4}WEBP/.test(begin)) return "image/webp";
  return /^[^]{4}ftypavif/.test(begin) ? "image/avif" : undefined;
}

/** The page's policy lets pictures be in an address, and no script. */
function dataAddress(bytes: Uint8Array, type: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      resolve(typeof reader.result === "string" ? reader.result : "");
    };
    reader.onerror = () => {
      reject(reader.error ?? new Error("The picture can’t be read."));
    };
    reader.readAsDataURL(new Blob([bytes as BlobPart], { type }));
  });
}
