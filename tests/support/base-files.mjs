// @ts-check
// An agent that has the files of the base interface and no extension: what another agent may be.
import * as fs from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** @import { IncomingMessage, RequestListener } from "node:http" */

/**
 * Answers as such an agent does.
 *
 * @param {string} workspace
 * @returns {RequestListener}
 */
export function baseFiles(workspace) {
  return (request, response) => {
    /** @param {number} status @param {object} body */
    const send = (status, body) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    answer(workspace, request).then(
      ([status, body]) => send(status, body),
      (error) => {
        const code = STATUSES[/** @type {keyof typeof STATUSES} */ (error.code)] ?? 500;
        send(code, { code, message: String(error.message) });
      },
    );
  };
}

const STATUSES = { ENOENT: 404, EISDIR: 400, ENOTDIR: 400, EEXIST: 409, ERR_FS_EISDIR: 400 };

/**
 * @param {string} workspace
 * @param {IncomingMessage} request
 * @returns {Promise<[status: number, body: object]>}
 */
async function answer(workspace, request) {
  const [, noun = "", encoded = ""] =
    /^\/api\/v1\/(files|file_stat|directories)\/([^?]*)$/.exec(request.url ?? "") ?? [];
  // A query would be an extension.
  if (noun === "") return [404, { code: 404, message: `no such path: ${request.url}` }];
  const path = resolve(workspace, decodeURIComponent(encoded));
  switch (`${request.method} ${noun}`) {
    case "GET files": {
      const content = await fs.readFile(path);
      const text = content.toString();
      const isText = Buffer.from(text).equals(content);
      const encoding = isText ? "utf-8" : "base64";
      return [200, { path, content: isText ? text : content.toString("base64"), encoding }];
    }
    case "POST files": {
      const content = await body(request);
      await fs.mkdir(dirname(path), { recursive: true });
      await fs.writeFile(path, content);
      return [201, { path, content: content.toString(), encoding: "utf-8" }];
    }
    case "PATCH files": {
      const { action, destination, recursive } = JSON.parse((await body(request)).toString());
      const to = resolve(workspace, destination);
      if (action === "move") await fs.rename(path, to);
      else await fs.cp(path, to, { recursive: recursive === true });
      return [200, { message: "done", from: path, to }];
    }
    case "DELETE files":
      await fs.rm(path);
      return [200, { message: "removed", path }];
    case "GET file_stat":
      return [200, await info(path)];
    case "POST directories":
      await fs.mkdir(path, { recursive: true });
      return [201, { message: "made", path }];
    case "GET directories": {
      const names = (await fs.readdir(path)).sort();
      return [200, { path, files: await Promise.all(names.map((name) => info(join(path, name)))) }];
    }
    case "DELETE directories":
      await fs.rm(path, { recursive: true });
      return [200, { message: "removed", path }];
    default:
      return [405, { code: 405, message: "no such method" }];
  }
}

/** @param {string} path */
async function info(path) {
  const stat = await fs.stat(path);
  const { size, mtime } = stat;
  return {
    name: basename(path),
    path,
    isDir: stat.isDirectory(),
    size,
    modTime: mtime.toISOString(),
  };
}

/** @param {IncomingMessage} request */
async function body(request) {
  return Buffer.concat(await request.toArray());
}
