// @ts-check
/**
 * Finds files that depend on each other in a circle: `node -- scripts/circles.mjs FOLDER…`, of Rust (as rustfmt leaves it) or TypeScript.
 * A file depends on the one that defines what a path of it leads to, or that it imports, types included. Declarations and
 * re-exports of Rust's modules don't count, nor do tests, nor what is imported while a program runs (`import()`).
 */
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/**
 * @typedef {{ path: string[], name: string, index: number, isPublic: boolean }} Use a path of a `use`, and the name it has here
 * @typedef {{ file: string, uses: Use[], code: string }} Module its code is what is left without the `use`s
 * @typedef {Map<string, Module>} Crate by path, such as `crate::execs::exec`
 */

/** @type {Map<string, Map<string, number>>} each file, with the files that it depends on and the line that says so */
const graph = new Map();
for (const folder of process.argv.slice(2)) {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const own = names.filter((name) => !/(^|\/)(node_modules|target|dist)\//.test(name));
  const files = own.map((name) => join(folder, name));
  for (const file of files) {
    if (/(^|\/)src\/(lib|main)\.rs$/.test(file)) addCrate(file, files);
    if (/(?<!\.d)\.tsx?$/.test(file)) addImports(file);
  }
}
const circular = new Set();
for (const file of graph.keys()) {
  const way = circular.has(file) ? undefined : circleThrough(file);
  if (way === undefined) continue;
  for (const file of way) circular.add(file);
  const steps = way.map((file, index) => `${file}:${graph.get(file)?.get(way[index + 1] ?? "")}`);
  console.error([...steps.slice(0, -1), steps[0]].join(" → "));
  process.exitCode = 1;
}

/** @param {string} file @param {string | undefined} other @param {string} code @param {number} index where in the code it says so */
function add(file, other, code, index) {
  const known = graph.get(file) ?? new Map();
  graph.set(file, known);
  if (other === undefined || other === file || known.has(other)) return;
  known.set(other, code.slice(0, index).split("\n").length);
}

/** @param {string} file */
function addImports(file) {
  const code = readFileSync(file, "utf8");
  const imports = code.matchAll(/^(?:import|export)\b(?:[^;"]*\bfrom)?\s*"(\.[^"]+)"/gm);
  for (const { 0: text, 1: path = "", index } of imports) {
    const name = normalize(join(dirname(file), path)).replace(/\.jsx?$/, "");
    for (const extension of [".ts", ".tsx"]) add(file, name + extension, code, index + text.length);
  }
}

/** @param {string} root its `lib.rs` or `main.rs` @param {string[]} files */
function addCrate(root, files) {
  const src = `${dirname(root)}/`;
  const inside = files.filter(
    (file) => file.startsWith(src) && /(?<!src\/(lib|main))\.rs$/.test(file),
  );
  const crate = new Map(inside.map((file) => [pathOf(file.slice(src.length)), readModule(file)]));
  crate.set("crate", readModule(root));
  for (const [at, { file, uses, code }] of crate) {
    for (const { path, name, index, isPublic } of uses) {
      const isReexport = isPublic && !code.split(/\W+/).includes(name);
      if (!isReexport) add(file, definedIn(path, at, crate), code, index);
    }
    for (const { 0: path, index } of code.matchAll(/(?<![\w:])[a-z_]\w*(?:::\w+)+/g)) {
      add(file, definedIn(path.split("::"), at, crate), code, index);
    }
  }
}

/** @param {string} file within `src` */
function pathOf(file) {
  const parts = file.replace(/(^|\/)mod\.rs$|\.rs$/, "").split("/");
  return ["crate", ...parts].join("::");
}

/** @param {string} file @returns {Module} */
function readModule(file) {
  const code = plainCode(readFileSync(file, "utf8"));
  const use = /(?<=^[ \t]*)(pub\b.*)?\buse\s+([^;]+);/gm;
  const uses = [...code.matchAll(use)].flatMap(({ 1: visibility, 2: tree = "", index }) =>
    branches(tree).map((branch) => ({ ...branch, index, isPublic: visibility !== undefined })),
  );
  return { file, uses, code: code.replace(use, blank).replace(/\bmod\s+\w+;/g, blank) };
}

/** Code without comments, texts, characters and tests; all else stays where it is. @param {string} code */
function plainCode(code) {
  const texts =
    /\/\/.*|\/\*[^]*?\*\/|b?r(#*)"[^]*?"\1|b?"(?:\\[^]|[^"\\])*"|b?'(?:\\(?:u\{\w+\}|x\w\w|.)|[^'\\])'/g;
  const tests = /^( *)#\[cfg\(test\)\][^]*?\n\1(?:\S.*;|\})$/gm;
  const innerModules = /^( *)(?:pub )?mod \w+ \{\n[^]*?\n\1\}$/gm;
  const plain = code.replace(texts, blank).replace(tests, blank);
  return plain.replace(innerModules, (inner) => inner.replace(/super::/g, blank));
}

/** @param {string} text */
function blank(text) {
  return text.replace(/\S/g, " ");
}

/** The paths of a tree of `use`. @param {string} tree */
function branches(tree) {
  const innermost = /([\w:]*)\{([^{}]*)\}/;
  let flat = tree.replace(/\s+as\s+/g, "=").replace(/\s/g, "");
  while (innermost.test(flat)) {
    flat = flat.replace(innermost, (_, prefix, inner) => inner.replace(/[^,]+/g, `${prefix}$&`));
  }
  return flat.split(",").flatMap((branch) => {
    const [path = "", alias] = branch.replace(/::(?:self|[*])(?=$|=)/, "").split("=");
    const parts = path.split("::");
    return path === "" ? [] : { path: parts, name: alias ?? parts.at(-1) ?? "" };
  });
}

/**
 * The file that defines what a path in a module leads to; undefined where that is no file of this crate.
 *
 * @param {string[]} path @param {string} from @param {Crate} crate
 * @returns {string | undefined}
 */
function definedIn(path, from, crate) {
  let at = from;
  for (const [index, name] of path.entries()) {
    if (name === "super") at = at.replace(/::\w+$/, "");
    else if (name === "crate") at = name;
    else if (crate.has(`${at}::${name}`)) at += `::${name}`;
    else if (name !== "self") {
      // In its own file a name that was imported is known by its import.
      if (index === 0) return undefined;
      const reexport = crate.get(at)?.uses.find((use) => use.name === name);
      if (reexport === undefined) break;
      return definedIn([...reexport.path, ...path.slice(index + 1)], at, crate);
    }
  }
  return crate.get(at)?.file;
}

/** A shortest way from a file back to it; undefined where there is none. @param {string} start */
function circleThrough(start) {
  const ways = [[start]];
  const reached = new Set();
  for (const way of ways) {
    for (const file of graph.get(way.at(-1) ?? "")?.keys() ?? []) {
      if (file === start) return [...way, file];
      if (!reached.has(file)) ways.push([...way, file]);
      reached.add(file);
    }
  }
  return undefined;
}
