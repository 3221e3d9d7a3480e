// Folders of starts that were killed: each tells by a socket in it whether its maker lives.
import { constants } from "node:fs";
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";

/** The name of the socket in a folder that its maker listens on. Nobody else takes its connections. */
const MAKER = "maker.sock";
/** How old a folder has to be that has no such socket, in milliseconds: its maker may be about to make it. */
const MIN_AGE = 60_000;

/** Says that the maker of a folder lives, as long as this process does. */
export interface MakerSocket {
  close(): void;
}

/** Makes the socket in a folder that this process has made. It does not keep this process alive. */
export async function listenAsMaker(folder: string): Promise<MakerSocket> {
  return throughDescriptor(folder, async (path) => {
    const server = createServer((client) => client.destroy());
    // Between bind(2) and listen(2) a socket refuses connections, as that of a maker that is gone does.
    const unready = join(path, `${MAKER}.unready`);
    server.listen(unready).unref();
    await once(server, "listening");
    await rename(unready, join(path, MAKER));
    return server;
  });
}

/**
 * Removes the folders of makers that are gone. What can't be removed stays.
 *
 * @param prefix How their names begin.
 */
export async function removeLeftFolders(directory: string, prefix: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  const folders = names
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(directory, name));
  await Promise.all(
    folders.map(async (folder) => {
      if (await isLeft(folder)) await rm(folder, { recursive: true, force: true });
    }),
  ).catch(() => undefined);
}

/** Whether nobody uses a folder any more. Another user's is not looked into. */
async function isLeft(folder: string): Promise<boolean> {
  try {
    const { uid, mtimeMs } = await stat(folder);
    if (uid !== process.geteuid?.()) return false;
    return await throughDescriptor(folder, async (path) => {
      const failure = await failureOf(join(path, MAKER));
      if (failure === "ENOENT") return Date.now() - mtimeMs > MIN_AGE;
      return failure === "ECONNREFUSED";
    });
  } catch {
    return false;
  }
}

/** Why the socket at a path can't be connected to; undefined where it can. */
function failureOf(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const client = connect(path, () => {
      client.destroy();
      resolve(undefined);
    });
    client.once("error", ({ code }: NodeJS.ErrnoException) => {
      resolve(code);
    });
  });
}

/**
 * Does something with a folder by a path that is short, whatever the folder's is: that of a socket has room for 107 bytes (unix(7)).
 */
async function throughDescriptor<T>(
  folder: string,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return await work(`/proc/self/fd/${handle.fd}`);
  } finally {
    await handle.close();
  }
}
