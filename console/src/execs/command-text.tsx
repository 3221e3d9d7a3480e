import { INTERPRETERS, lineOf, type Command } from "./command-line.js";

/** A command, short: a shell's script without the quotes around it, behind the shell's name. */
export function CommandText({ item }: { item: Command }) {
  const [option, script, ...more] = item.args;
  const isScript = option === "-c" && script !== undefined && more.length === 0;
  if (!isScript || !INTERPRETERS.some((name) => name === item.command)) return <>{lineOf(item)}</>;
  return (
    <>
      <span class="shell">{item.command} </span>
      {script}
      {item.argsTruncated === true && "…"}
    </>
  );
}
