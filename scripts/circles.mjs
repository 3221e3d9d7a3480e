// @ts-check
/**
 * Finds files that depend on each other in a circle: `node scripts/circles.mjs FOLDER…`, of Rust or TypeScript. A file depends on the
 * one that defines what a path of it leads to, or that it imports, types included. Declarations and re-exports of modules don't
 * count, nor do tests, nor what is imported while a program runs (`import()`).
 */
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** @typedef {Map<string, Map<string, number>>} Graph each file, with the files that it depends on and the line that says so */
/** @typedef {{ file: string, code: string, parent: Module | undefined, children: Map<string, Module>, names: Map<string, string[]>, globs: string[][] }} Module */

/** @type {Graph} */
const graph = new Map();
for (const folder of process.argv.slice(2)) addFolder(folder);
const circular = new Set();
for (const file of graph.keys()) {
  const way = circular.has(file) ? undefined : circleThrough(file);
  if (way === undefined) continue;
  for (const file of way) circular.add(file);
  console.error(shown(way));
  process.exitCode = 1;
}

/** @param {string} folder */
function addFolder(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) =>
    join(folder, file),
  );
  const sources = files.filter((file) => !/(^|\/)(node_modules|target|dist)\//.test(file));
  for (const file of sources) if (/(^|\/)src\/(lib|main)\.rs$/.test(file)) addCrate(file);
  for (const file of sources) if (/\.tsx?$/.test(file) && !file.endsWith(".d.ts")) addImports(file);
}

/** @param {string} file @param {string} other @param {number} line */
function add(file, other, line) {
  const known = graph.get(file) ?? new Map();
  graph.set(file, known);
  if (file !== other && !known.has(other)) known.set(other, line);
}

/** @param {string} code @param {number} index */
function lineAt(code, index) {
  return code.slice(0, index).split("\n").length;
}

/** @param {string} file */
function addImports(file) {
  const code = readFileSync(file, "utf8");
  for (const { 1: path, index } of code.matchAll(
    /^(?:import|export)\b(?:[^;"]*\bfrom)?\s*"(\.[^"]+)"/gm,
  )) {
    const name = normalize(join(dirname(file), /** @type {string} */ (path))).replace(
      /\.jsx?$/,
      "",
    );
    const end = code.indexOf(`"${path}"`, index);
    for (const extension of [".ts", ".tsx"]) add(file, name + extension, lineAt(code, end));
  }
}

/** @param {string} root */
function addCrate(root) {
  const top = readModule(root, dirname(root));
  for (const module of within(top)) addPaths(module, top);
}

/** @param {Module} module @returns {Module[]} */
function within(module) {
  return [module, ...[...module.children.values()].flatMap(within)];
}

/** @param {string} file @param {string} folder that holds its children @param {Module} [parent] @returns {Module} */
function readModule(file, folder, parent) {
  const code = withoutInnerModules(withoutTests(withoutText(readFileSync(file, "utf8"))));
  /** @type {Module} */
  const module = { file, code, parent, children: new Map(), names: new Map(), globs: [] };
  for (const [, name = ""] of code.matchAll(/\bmod\s+(\w+)\s*;/g)) {
    const inFolder = join(folder, name);
    const isFolder = readdirSync(folder).includes(name) && readdirSync(inFolder).includes("mod.rs");
    module.children.set(
      name,
      readModule(isFolder ? join(inFolder, "mod.rs") : `${inFolder}.rs`, inFolder, module),
    );
  }
  for (const { tree } of uses(code)) {
    for (const { path, name } of branches(tree)) {
      if (name === "*") module.globs.push(path);
      else module.names.set(name, path);
    }
  }
  return module;
}

/** @param {Module} module @param {Module} top */
function addPaths(module, top) {
  let rest = module.code.replace(/\bmod\s+\w+\s*;/g, (found) => found.replace(/\S/g, " "));
  for (const { text, index } of uses(module.code)) {
    rest = rest.slice(0, index) + text.replace(/\S/g, " ") + rest.slice(index + text.length);
  }
  const know = (/** @type {string[]} */ path, /** @type {number} */ index) => {
    const file = definedIn(path, module, top);
    if (file !== undefined) add(module.file, file, lineAt(module.code, index));
  };
  for (const { tree, index, text } of uses(module.code)) {
    for (const { path, name } of branches(tree)) {
      const isReexport =
        text.startsWith("pub") && !new RegExp(`\\b${name.replace("*", "$^")}\\b`).test(rest);
      if (!isReexport) know(path, index + Math.max(0, text.lastIndexOf(name)));
    }
  }
  for (const { 0: path, index } of rest.matchAll(/(?<![\w:])[a-z_]\w*(?:::\w+)+/g))
    know(path.split("::"), index);
}

/**
 * The file that defines what a path of a module leads to; undefined where that is no file of this crate.
 *
 * @param {string[]} path @param {Module} from @param {Module} top @param {number} [depth]
 * @returns {string | undefined}
 */
function definedIn(path, from, top, depth = 0) {
  /** @type {Module | undefined} */
  let module = from;
  for (const [index, name] of path.entries()) {
    if (module === undefined || depth > 20) return undefined;
    /** @type {Module | undefined} */
    const next =
      name === "crate"
        ? top
        : name === "self"
          ? module
          : name === "super"
            ? module.parent
            : module.children.get(name);
    if (next !== undefined) {
      module = next;
      continue;
    }
    const bound = module.names.get(name);
    // In its own file a name that was imported is known by its import.
    if (bound !== undefined && index > 0)
      return definedIn([...bound, ...path.slice(index + 1)], module, top, depth + 1);
    if (index === 0) return undefined;
    if (defines(module.code, name)) return module.file;
    for (const glob of module.globs) {
      const found = definedIn([...glob, ...path.slice(index)], module, top, depth + 1);
      if (found !== undefined) return found;
    }
    return module.file;
  }
  return module?.file;
}

/** @param {string} code @param {string} name */
function defines(code, name) {
  return new RegExp(
    `\\b(?:struct|enum|union|trait|type|fn|const|static|macro_rules!)\\s+${name}\\b`,
  ).test(code);
}

/** Each `use`, from its visibility on. @param {string} code */
function uses(code) {
  const found = code.matchAll(/^[ \t]*((?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+));/gm);
  return [...found].map(({ 0: all, 1: text = "", 2: tree = "", index }) => ({
    text,
    tree,
    index: index + all.indexOf(text),
  }));
}

/** The paths of a tree of `use`. @param {string} tree @returns {{ path: string[], name: string }[]} */
function branches(tree) {
  const brace = tree.indexOf("{");
  if (brace < 0) {
    const [path = "", alias] = tree.trim().split(/\s+as\s+/);
    const parts = path.split("::").filter((part) => part !== "");
    const last = parts.at(-1) ?? "";
    if (last === "*") return [{ path: parts.slice(0, -1), name: "*" }];
    const whole = last === "self" && parts.length > 1 ? parts.slice(0, -1) : parts;
    return [{ path: whole, name: alias ?? whole.at(-1) ?? "" }];
  }
  const inner = [""];
  let depth = 0;
  for (const char of tree.slice(brace + 1, tree.lastIndexOf("}"))) {
    depth += char === "{" ? 1 : char === "}" ? -1 : 0;
    if (char === "," && depth === 0) inner.push("");
    else inner[inner.length - 1] += char;
  }
  return inner
    .filter((part) => part.trim() !== "")
    .flatMap((part) => branches(tree.slice(0, brace).trim() + part.trim()));
}

/** Code without its comments, texts and characters; all else stays where it is. @param {string} code */
function withoutText(code) {
  const text =
    /\/\/.*|\/\*[^]*?\*\/|b?r(#*)"[^]*?"\1|b?"(?:\\[^]|[^"\\])*"|b?'(?:\\(?:u\{\w+\}|x\w\w|.)|[^'\\])'/g;
  return code.replace(text, (found) => found.replace(/\S/g, " "));
}

/** @param {string} code */
function withoutTests(code) {
  for (let start; (start = code.indexOf("#[cfg(test)]")) >= 0;) {
    const end = endOfItem(code, start);
    code = code.slice(0, start) + code.slice(start, end).replace(/\S/g, " ") + code.slice(end);
  }
  return code;
}

/** Code in which a module within a file counts as a part of it. @param {string} code */
function withoutInnerModules(code) {
  const starts = [...code.matchAll(/\bmod\s+\w+\s*\{/g)].map(({ index }) => index);
  for (const start of starts) {
    const inner = code.slice(start, endOfItem(code, start));
    code = code.replace(inner, () => inner.replaceAll("super::", " self::"));
  }
  return code;
}

/** Where an item that begins at `start` has its `;` or `}`. @param {string} code @param {number} start */
function endOfItem(code, start) {
  let depth = 0;
  for (let end = start; end < code.length; end += 1) {
    const char = code[end] ?? "";
    if ("{[(".includes(char)) depth += 1;
    if ("}])".includes(char)) depth -= 1;
    if (depth === 0 && ";}".includes(char)) return end + 1;
  }
  return code.length;
}

/** A shortest way from a file back to it; undefined where there is none. @param {string} start */
function circleThrough(start) {
  const ways = [[start]];
  const reached = new Set();
  for (const way of ways) {
    for (const file of graph.get(way.at(-1) ?? "")?.keys() ?? []) {
      if (file === start) return way;
      if (!reached.has(file)) ways.push([...way, file]);
      reached.add(file);
    }
  }
  return undefined;
}

/** @param {string[]} way */
function shown(way) {
  const steps = way.map((file, index) => {
    const next = way[(index + 1) % way.length] ?? "";
    return `${file}:${graph.get(file)?.get(next)}`;
  });
  return [...steps, steps[0]].join(" → ");
}
