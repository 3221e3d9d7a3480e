// What to type in place of a word or an option that other programs have.

const DETACHED = "`sandpipe bg start -- COMMAND` starts a process in the background";
const LISTS =
  "`sandpipe ps` lists commands, `sandpipe files ls` files, `sandpipe bg ls` background processes";
const IMAGES = "`sandpipe run --image IMAGE` takes an image that podman or docker has";
const LISTEN = "`--listen 127.0.0.1:PORT` chooses the address";
const TERMINAL = "`sandpipe run -it -- bash` opens a shell";
const KILL_FIRST = "`sandpipe stop ID` stops what runs, and `sandpipe rm ID` removes it then";

/** By command, then by words that are separated by spaces. */
const INSTEAD: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sandpipe: {
    "ls list": LISTS,
    "top stats": "`sandpipe ps` lists commands",
    inspect: "`sandpipe ps --json` has all that is known of each command",
    "login logout auth":
      "there are no accounts: `sandpipe agent` prints how another terminal uses it",
    wait: "`sandpipe attach --no-stdin ID` waits for a command, `sandpipe bg wait ID` for a background process",
    exec:
      "no id is needed: `sandpipe run -- COMMAND` runs a command beside the others of the agent " +
      "that SANDPIPE_URL or --url names",
    "start create": DETACHED,
    "sh shell bash ssh": TERMINAL,
    "serve server daemon up": "`sandpipe agent` runs an agent",
    "image images pull build": IMAGES,
    port: "`sandpipe forward PORT` reaches a port of the sandbox",
    prune: "`sandpipe rm --ended` removes commands that have ended",
  },
  "sandpipe run": {
    "-d --detach": DETACHED,
    "--name": "only background processes have names: `sandpipe bg start --name NAME -- COMMAND`",
    "--rm": "leave it out: an agent of its own ends with the command, and keeps nothing",
    "--workdir": "`--cwd DIR` is the working directory",
    "-v --volume --mount": "`--workspace DIR` is the directory that commands run in",
    "-p --publish": "`sandpipe forward PORT` reaches a port of the sandbox",
    "-c": "`sandpipe run -- sh -c SCRIPT` runs a script",
    "--env-file": "`--env NAME` passes a variable of this environment on",
  },
  "sandpipe kill": Object.fromEntries(
    [
      ["HUP", 1],
      ["INT", 2],
      ["QUIT", 3],
      ["KILL", 9],
      ["TERM", 15],
    ].map(([name, number]) => [
      `-${number} -${name} -SIG${name}`,
      `\`sandpipe kill -s ${name} ID\` sends that signal`,
    ]),
  ),
  "sandpipe stop": { "--time --timeout": "`--grace TIME` is how long they may take to end" },
  "sandpipe bg stop": { "--time --timeout": "`--grace TIME` is how long they may take to end" },
  "sandpipe rm": { "-f --force": KILL_FIRST },
  "sandpipe bg rm": { "-f --force": KILL_FIRST.replaceAll("sandpipe", "sandpipe bg") },
  "sandpipe logs": { "-n --tail": "`sandpipe logs ID | tail -n LINES` shows the last lines" },
  "sandpipe bg logs": { "-n": "`sandpipe bg logs ID | tail -n LINES` shows the last lines" },
  "sandpipe bg": {
    "ps list": "`sandpipe bg ls` lists the processes",
    run: DETACHED,
    kill: "`sandpipe bg stop --grace 0 ID` kills a process",
  },
  "sandpipe agent": { "-p --port --host": LISTEN },
  "sandpipe console": { "-p --port --host": LISTEN },
};

/** For every command that has `--json`. */
const JSON_INSTEAD = { "-o --output --format": "`--json` prints JSON" };

/**
 * Says what to type in place of a word that a command does not know; undefined where that is not known.
 *
 * @param path The program and the commands that lead to it.
 * @param known The words that it knows there: commands, or options.
 */
export function insteadOf(
  path: string,
  word: string,
  known: readonly string[],
): string | undefined {
  const table = { ...(known.includes("--json") ? JSON_INSTEAD : {}), ...INSTEAD[path] };
  const found = Object.entries(table).find(([words]) => words.split(" ").includes(word));
  if (found !== undefined) return found[1];
  const meant = known.find((other) => isSlip(word, other));
  return meant === undefined ? undefined : `did you mean ${meant}?`;
}

/** Returns whether two words differ by one letter, or by two that are exchanged. */
function isSlip(word: string, other: string): boolean {
  // Of two letters, one says too little.
  if (word.replace(/^-+/, "").length < 3) return false;
  let start = 0;
  while (start < word.length && word[start] === other[start]) start += 1;
  let [end, otherEnd] = [word.length, other.length];
  while (end > start && otherEnd > start && word[end - 1] === other[otherEnd - 1]) {
    end -= 1;
    otherEnd -= 1;
  }
  const [left, right] = [word.slice(start, end), other.slice(start, otherEnd)];
  if (left.length < 2 && right.length < 2) return true;
  return right.length === 2 && left === right.charAt(1) + right.charAt(0);
}
