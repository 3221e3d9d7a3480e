// @ts-check

/** Segment type of a path of a dynamic linker (elf(5)). */
const PT_INTERP = 3;

/**
 * What a program for a little-endian machine of 64 bits is for, and whether it needs a dynamic linker.
 *
 * @param {Buffer} file
 */
export function elfOf(file) {
  if (file.toString("latin1", 0, 4) !== "\x7fELF") throw new Error("it is no ELF file");
  const headers = Number(file.readBigUInt64LE(32));
  const [size, count] = [file.readUInt16LE(54), file.readUInt16LE(56)];
  const types = Array.from({ length: count }, (_, i) => file.readUInt32LE(headers + i * size));
  return { machine: file.readUInt16LE(18), interpreter: types.includes(PT_INTERP) };
}
