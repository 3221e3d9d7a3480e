import type { Header } from "tar-stream";

/** What is set of a file or a directory that is unpacked. */
export interface Attributes {
  mode: number;
  /** Seconds since 1970, as text: in a number Node.js takes what is negative for the current time. */
  time: string;
}

/** Permission bits that are kept: whose rights a program has is not for another machine to say. */
const MODE = 0o777;

/** The last second that a `Date` has, and the first one, negative. Systems take the nearest time that they can keep. */
const MAX_SECONDS = 8.64e12;

/** The attributes that an archive has of an entry, with its time as exactly as it says. */
export function attributesOf({ mode, mtime, pax }: Header): Attributes {
  const exact = Number((pax as { mtime?: string } | null | undefined)?.mtime);
  const seconds = Number.isFinite(exact) ? exact : mtime.getTime() / 1000;
  // Not a number is what no `Date` holds.
  const possible = Math.min(Math.max(seconds || 0, -MAX_SECONDS), MAX_SECONDS);
  return { mode: mode & MODE, time: String(possible) };
}
