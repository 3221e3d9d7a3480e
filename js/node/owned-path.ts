// Who may change what is at a path, by the permissions of a POSIX system. The agent has the same rule (crates/agent/src/owned_path.rs).
import { lstatSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { isAbsolute, join } from "node:path";
import { userInfo } from "node:os";

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
/** In such a directory only the owner of an entry may rename or remove it (inode(7)). */
const STICKY = 0o1000;
/** Most links that a path may lead through, as with Linux (path_resolution(7)). */
const MAX_LINKS = 40;
/** Groups with a lower number are the system's own, and not of a directory service that tells no members (login.defs(5), GID_MIN). */
const FIRST_OF_USERS = 1000;

/**
 * Says how others than root and this user could change what is at an absolute path: it, or a directory or link that leads there;
 * undefined where nobody can, or the system has no such permissions.
 */
export function changeableByOthers(path: string): string | undefined {
  const user = process.geteuid?.();
  if (user === undefined) return undefined;
  try {
    const way = changeableStep(path, user);
    return way === undefined
      ? undefined
      : `others could replace it: they may change ${way}, run \`chmod go-w\` on that`;
  } catch (error) {
    return `it can't be checked: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Follows a path from the root on. */
function changeableStep(path: string, user: number): string | undefined {
  const owners = new Set([0, lstatSync("/").uid, user]);
  const rest = namesOf(path);
  let at = "/";
  let links = 0;
  for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
    const directory = lstatSync(at);
    if (!owners.has(directory.uid)) return at;
    if (isShared(directory, user) && (directory.mode & STICKY) === 0) return at;
    const next = join(at, name);
    const entry = lstatSync(next);
    if (!entry.isSymbolicLink()) {
      at = next;
      continue;
    }
    // In a sticky directory it is its owner's to replace.
    if (!owners.has(entry.uid)) return next;
    if (++links > MAX_LINKS) throw new Error("too many symbolic links");
    const target = readlinkSync(next);
    if (isAbsolute(target)) at = "/";
    rest.push(...namesOf(target));
  }
  const found = lstatSync(at);
  return owners.has(found.uid) && !isShared(found, user) ? undefined : at;
}

/** What a path goes through, the last first. */
function namesOf(path: string): string[] {
  return path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .reverse();
}

/** Returns whether others than the owner, root and this user may write to something. */
function isShared({ mode, gid }: Stats, user: number): boolean {
  if ((mode & OTHERS_WRITE) !== 0) return true;
  return (mode & GROUP_WRITES) !== 0 && !isPrivate(gid, user);
}

/**
 * Returns whether a group is root's, or the one that many systems make for each user, with nobody else in it, or one of the system's
 * in which nobody is, such as Debian's staff, to which /usr/local may belong.
 */
function isPrivate(gid: number, user: number): boolean {
  if (gid === 0) return true;
  try {
    const { username } = userInfo();
    const group = fieldsOf("/etc/group").find(([, , number]) => number === String(gid));
    if (group === undefined) return false;
    const [name, , , members = ""] = group;
    const others = members.split(",").filter((member) => !["", "root", username].includes(member));
    if (others.length > 0 || (gid >= FIRST_OF_USERS && name !== username)) return false;
    // Who is in a group by the file of users is not listed as its member (passwd(5)).
    return !fieldsOf("/etc/passwd").some(
      ([, , uid, primary]) => primary === String(gid) && uid !== String(user),
    );
  } catch {
    return false;
  }
}

/** The lines of a file of users or groups (passwd(5), group(5)). */
function fieldsOf(file: string): string[][] {
  return readFileSync(file, "utf8")
    .split("\n")
    .map((line) => line.split(":"));
}
