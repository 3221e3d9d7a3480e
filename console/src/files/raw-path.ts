/**
 * Paths as the page handles them: absolute, and percent-encoded as the `raw` of a `FileInfo` is, so that a name that is not UTF-8
 * is one like any other. Such a path is `raw` here; a text that is shown is made of it by {@link shownPath}.
 */

/** A path percent-encoded: every byte that is not a letter, a digit or one of `-._~/` (RFC 3986, 2.3). */
export function rawOf(path: string): string {
  return encodeURIComponent(path.replace(/\/+/g, "/"))
    .replaceAll("%2F", "/")
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The path of a file that the agent has told of. */
export function rawOfFile({ path, raw }: { path: string; raw?: string }): string {
  return raw ?? rawOf(path);
}

/** An absolute path that stands in an address, written as {@link rawOf} writes it. */
export function rawOfAddress(text: string): string {
  const path = text.replace(/(?<=.)\/+$/, "");
  try {
    return rawOf(decodeURIComponent(path));
  } catch {
    // It has bytes that are no UTF-8: the agent says whether it is a path.
    return path;
  }
}

/** A path as it is shown: bytes that are not UTF-8 are U+FFFD. */
export function shownPath(raw: string): string {
  const bytes: number[] = [];
  for (let at = 0; at < raw.length; at++) {
    const hex = /^%([0-9A-Fa-f]{2})/.exec(raw.slice(at, at + 3))?.[1];
    if (hex !== undefined) at += 2;
    bytes.push(hex === undefined ? raw.charCodeAt(at) : Number.parseInt(hex, 16));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** The last part of a path, as it is shown. */
export function shownName(raw: string): string {
  return raw === "/" ? "/" : shownPath(raw.slice(raw.lastIndexOf("/") + 1));
}

/** What a path is in; `/` is in itself. */
export function parentOf(raw: string): string {
  return raw.slice(0, raw.lastIndexOf("/")) || "/";
}

/** The path of a name in a directory. The name may be several, with `/` between. */
export function within(directory: string, name: string): string {
  return `${directory === "/" ? "" : directory}/${rawOf(name)}`;
}

/** Whether a path is a directory's, or that of something in it at any depth. */
export function isWithin(raw: string, directory: string): boolean {
  return raw === directory || raw.startsWith(directory === "/" ? "/" : `${directory}/`);
}

/** The directories above a path, from `/` down. */
export function above(raw: string): readonly string[] {
  if (raw === "/") return [];
  const parts = raw.split("/").slice(1, -1);
  return ["/", ...parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`)];
}

/** The innermost directory that two paths are in, or that one of them is while the other is in it. */
export function common(one: string, other: string): string {
  const candidates = [one, ...[...above(one)].reverse()];
  return candidates.find((directory) => isWithin(other, directory)) ?? "/";
}
