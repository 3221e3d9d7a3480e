const UNITS = ["kB", "MB", "GB", "TB"];

/** A number of bytes, in words: `812 bytes`, `1.4 MB`. */
export function sizeText(bytes: number): string {
  if (bytes === 1) return "1 byte";
  if (bytes < 1000) return `${bytes} bytes`;
  let [amount, unit] = [bytes / 1000, 0];
  while (amount >= 999.5 && unit < UNITS.length - 1) [amount, unit] = [amount / 1000, unit + 1];
  return `${amount < 99.95 ? amount.toFixed(1) : Math.round(amount)} ${UNITS[unit] ?? ""}`;
}
