// @ts-check
import { createHash } from "node:crypto";

const HEADER_SIZE = 8;
const IMPORT_SECTION = 2;
const FUNCTION = 0;

/**
 * A module whose imports have short names, and the code that has them. wasm-bindgen's names end in hashes, which no
 * compression makes shorter, in both files. As those do, the name of what it imports from keeps a module from being
 * taken with the code of another build: it is the hash of all the names.
 *
 * @param {Buffer} module
 * @param {string} code
 */
export function withShortImports(module, code) {
  const { start, end, content } = section(module, IMPORT_SECTION);
  const imports = readImports(content);
  const names = imports.map(({ name }) => name);
  const hash = createHash("sha256").update(names.join("\n")).digest("hex").slice(0, 12);
  const from = imports[0]?.from;
  /** @type {Map<string, string>} */
  const short = new Map(names.map((name, index) => [name, `_${index.toString(36)}`]));
  if (imports.some((one) => one.from !== from) || short.size !== names.length) {
    throw new Error("the module's imports are to be of one object, each by a name of its own");
  }

  const entries = imports.map(({ name, rest }) =>
    Buffer.concat([text(hash), text(short.get(name) ?? name), rest]),
  );
  const body = Buffer.concat([number(entries.length), ...entries]);
  const written = Buffer.concat([
    module.subarray(0, start),
    ...[Buffer.from([IMPORT_SECTION]), number(body.length), body],
    module.subarray(end),
  ]);
  return { module: written, code: renamed(code, new Map([...short, [`"${from}"`, `"${hash}"`]])) };
}

/**
 * Code with other names for properties. Each has to be there, once.
 *
 * @param {string} code
 * @param {Map<string, string>} names
 */
function renamed(code, names) {
  /** @type {Set<string>} */
  const found = new Set();
  const result = code.replaceAll(/^( +)(\w+|"[^"\n]+")(?=: )/gm, (all, indent, name) => {
    const other = names.get(name);
    if (other === undefined) return all;
    if (found.has(name)) throw new Error(`the code has ${name} more than once`);
    found.add(name);
    return indent + other;
  });
  for (const name of names.keys()) {
    if (!found.has(name)) throw new Error(`the code has no ${name}, which the module imports`);
  }
  return result;
}

/**
 * @param {Buffer} module
 * @param {number} wanted
 */
function section(module, wanted) {
  for (let start = HEADER_SIZE; start < module.length;) {
    const [length, begin] = readNumber(module, start + 1);
    const end = begin + length;
    if (module[start] === wanted) return { start, end, content: module.subarray(begin, end) };
    start = end;
  }
  throw new Error(`the module has no section ${wanted}`);
}

/** @param {Buffer} content the section of imports, which are all functions */
function readImports(content) {
  let [count, position] = readNumber(content, 0);
  const imports = [];
  for (; count > 0; count--) {
    const [from, afterFrom] = readText(content, position);
    const [name, afterName] = readText(content, afterFrom);
    if (content[afterName] !== FUNCTION) throw new Error(`${name} is imported, and no function`);
    [, position] = readNumber(content, afterName + 1);
    imports.push({ from, name, rest: content.subarray(afterName, position) });
  }
  return imports;
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 * @returns {[value: string, end: number]}
 */
function readText(bytes, position) {
  const [length, begin] = readNumber(bytes, position);
  return [bytes.toString("utf8", begin, begin + length), begin + length];
}

/**
 * An unsigned number in LEB128.
 *
 * @param {Buffer} bytes
 * @param {number} position
 * @returns {[value: number, end: number]}
 */
function readNumber(bytes, position) {
  for (let value = 0, shift = 0; ; shift += 7) {
    const byte = bytes.readUInt8(position++);
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return [value, position];
  }
}

/** @param {string} value */
function text(value) {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
}

/** @param {number} value */
function number(value) {
  const bytes = [];
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) | 0x80);
  return Buffer.from([...bytes, value]);
}
