import { chmod, mkdir, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { SOCKET } from "./command-line.js";
import { listenAsMaker, type MakerSocket, removeLeftFolders } from "./left-folders.js";

/** How the names of these folders begin. */
const PREFIX = "sandpipe-container-";

/** `O_PATH` (open(2)) of Linux on the processors that there are agents for: Node.js does not name it. */
const O_PATH = 0o10000000;

/** A folder of this machine in which an agent in a container makes its socket. */
export interface SocketFolder {
  /** Its path, which is mounted. */
  path: string;
  /**
   * Takes the socket that was made there. Its path leads to it as long as it is not closed, although the folder is removed: nobody in
   * the container can put another socket in its place.
   */
  take(): Promise<TakenSocket>;
  /** Removes it, if it is still there. */
  remove(): Promise<void>;
}

/** A socket that was taken from its folder. */
export interface TakenSocket {
  path: string;
  close(): Promise<void>;
}

/**
 * Makes one that only this user can reach on this machine, whoever the user in the container is. Those that were left by processes which
 * were killed are removed.
 */
export async function makeSocketFolder(): Promise<SocketFolder> {
  await removeLeftFolders(tmpdir(), PREFIX);
  const own = await mkdtemp(join(tmpdir(), PREFIX));
  const path = join(own, "socket");
  let maker: MakerSocket | undefined;
  const remove = async (): Promise<void> => {
    maker?.close();
    await rm(own, { recursive: true, force: true });
  };
  try {
    maker = await listenAsMaker(own);
    await mkdir(path);
    // For the user in the container; mkdir() is subject to the umask.
    await chmod(path, 0o777);
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    path,
    remove,
    take: async () => {
      const socket = await open(join(path, SOCKET), O_PATH);
      await remove();
      return { path: `/proc/self/fd/${socket.fd}`, close: () => socket.close() };
    },
  };
}
