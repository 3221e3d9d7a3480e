// @ts-check
/** Archives that Linux unpacks as its first file system (cpio, "newc": initramfs buffer format). */

const DIRECTORY = 0o040_000;
const FILE = 0o100_000;

/**
 * @typedef {object} Entry
 * @property {string} path without a slash at its beginning
 * @property {Buffer} [content] none for a directory
 * @property {number} [mode] its permissions
 */

/**
 * @param {readonly Entry[]} entries directories before what is in them
 * @returns {Buffer}
 */
export function cpio(entries) {
  const parts = entries.map((entry, index) => {
    const mode = (entry.content === undefined ? DIRECTORY : FILE) | (entry.mode ?? 0o755);
    return member(index + 1, mode, entry.path, entry.content ?? Buffer.alloc(0));
  });
  return Buffer.concat([...parts, member(0, 0, "TRAILER!!!", Buffer.alloc(0))]);
}

/**
 * @param {number} inode
 * @param {number} mode
 * @param {string} path
 * @param {Buffer} content
 */
function member(inode, mode, path, content) {
  const name = Buffer.from(`${path}\0`);
  const fields = [inode, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length, 0];
  const numbers = fields.map((field) => field.toString(16).padStart(8, "0")).join("");
  const head = Buffer.concat([Buffer.from(`070701${numbers}`), name]);
  return Buffer.concat([padded(head), padded(content)]);
}

/** @param {Buffer} bytes */
function padded(bytes) {
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
}
