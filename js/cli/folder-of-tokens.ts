import { tmpdir } from "node:os";

/** Returns a directory for files with a token: one that confined commands don't see. They have another `/tmp`, whatever `TMPDIR` names. */
export function folderOfTokens(): string {
  return process.platform === "linux" ? "/tmp" : tmpdir();
}
