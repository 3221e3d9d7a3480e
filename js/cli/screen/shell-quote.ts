/** Arguments as a POSIX shell reads them back, byte for byte. */
export function shellQuote(args: readonly string[]): string {
  return args.map(quoted).join(" ");
}

function quoted(arg: string): string {
  // `=` and `~` mean something at the beginning of a command and of a word.
  return /^[\w@%+:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;
}
