import { lineOf, scriptOf, type Command } from "./command-line.js";

/** A command, short: a shell's script without the quotes around it, behind the shell's name. */
export function CommandText({ item }: { item: Command }) {
  const script = scriptOf(item);
  if (script === undefined) return <>{lineOf(item)}</>;
  return (
    <>
      <span class="shell">{item.command} </span>
      {script}
    </>
  );
}
