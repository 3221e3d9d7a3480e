import { BackgroundError } from "../core/errors.js";
import type { AbortSignal } from "../platform.js";
import type { Runtime } from "../runtime.js";
import { fromBase64, toBase64 } from "./base64.js";
import type { FileFacts, FileList, ListedFile, ToolFiles } from "./tool-files.js";

/** Runs a script. */
export type Run = Runtime["run"];

/** How much of a file is read by one script, in bytes. */
const READ_BYTES = 1024 * 1024;

/** The most of a list that is read, in bytes. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;

/** What a script says first where it has done what it should. */
const DONE = "done";

/** A script's exit code where there is nothing at its path. */
const MISSING = 44;

/**
 * Files by the shell of a target, for runtimes that have nothing but that: what a POSIX shell, `head`, `tail`, `find` and `base64`
 * can do. Bytes go as base64, since output is text.
 */
export class ShellFiles implements ToolFiles {
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  async stat(path: string, signal: AbortSignal | undefined): Promise<FileFacts | undefined> {
    const script = `
[ -e "$path" ] || exit ${MISSING}
if [ -d "$path" ]; then kind=directory size=0
elif [ -f "$path" ]; then kind=file; size=$(wc -c <"$path") || exit
else kind=other size=0; fi
case $path in /*) ;; *) path=$PWD/\${path#./} ;; esac
echo ${DONE} $kind $size
printf %s "$path"`;
    const said = await this.#ask(path, script, signal);
    if (said === undefined) return undefined;
    const [head = "", ...rest] = said.split("\n");
    const [kind = "", size = ""] = head.split(" ");
    return { path: rest.join("\n"), kind: kind as FileFacts["kind"], size: Number(size) };
  }

  async *read(path: string, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    for (let offset = 0; ; offset += READ_BYTES) {
      // Reading past the end gives nothing; what can't be read says so before.
      const script = `
: <"$path" || exit
echo ${DONE}
tail -c +${offset + 1} "$path" | head -c ${READ_BYTES} | base64`;
      const bytes = bytesOf(await this.#must(path, script, signal));
      if (bytes.length > 0) yield bytes;
      if (bytes.length < READ_BYTES) return;
    }
  }

  async write(path: string, text: string, signal: AbortSignal | undefined): Promise<void> {
    const temporary = `.sandpipe-${crypto.randomUUID()}`;
    // A copy has the mode of the old file, and where that may be its owner. `mv` is rename(2) here.
    const script = `
if [ -L "$path" ]; then path=$(readlink -f "$path") || exit; fi
case $path in */*) folder=\${path%/*}/ ;; *) folder= ;; esac
[ -z "$folder" ] || mkdir -p "$folder" || exit
new=$folder${temporary}
trap 'rm -f "$new"' EXIT
trap 'exit 143' HUP INT TERM
if [ -e "$path" ]; then cp -p "$path" "$new" || exit; fi
base64 -d >"$new" <<'END' && mv -f "$new" "$path" && echo ${DONE}
${lines(toBase64(new TextEncoder().encode(text)))}
END`;
    await this.#must(path, script, signal);
  }

  async list(path: string, depth: number, signal: AbortSignal | undefined): Promise<FileList> {
    // Not every \`find\` tells sizes.
    const script = `
cd "$path" && ls . >/dev/null || exit
echo ${DONE}
if find . -maxdepth 0 -printf '' 2>/dev/null; then
  find . -mindepth 1 -maxdepth ${depth} -printf '%y\\0%s\\0%l\\0%P\\0' 2>/dev/null
else
  find . -mindepth 1 -maxdepth ${depth} -exec sh -c '
    for file do
      link=
      if [ -L "$file" ]; then kind=l link=$(readlink "$file"); elif [ -d "$file" ]; then kind=d; else kind=; fi
      printf "%s\\0\\0%s\\0%s\\0" "$kind" "$link" "\${file#./}"
    done' sh {} + 2>/dev/null
fi | head -c ${MAX_LIST_BYTES} | base64`;
    const bytes = bytesOf(await this.#must(path, script, signal));
    const fields = new TextDecoder().decode(bytes).split("\0");
    const files: ListedFile[] = [];
    for (let at = 0; at + 4 < fields.length; at += 4) {
      const [kind, size = "", link, name = ""] = fields.slice(at, at + 4);
      files.push({
        name,
        isDirectory: kind === "d",
        size: kind === "f" && size !== "" ? Number(size) : undefined,
        linkTarget: kind === "l" ? link : undefined,
      });
    }
    files.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { files, hasMore: bytes.length === MAX_LIST_BYTES };
  }

  /** What a script says about a path that there is. */
  async #must(path: string, script: string, signal: AbortSignal | undefined): Promise<string> {
    const said = await this.#ask(path, script, signal);
    return said ?? refused(path, "there is no such file");
  }

  /**
   * What a script says behind {@link DONE}; undefined where it ends with {@link MISSING}.
   *
   * @throws {BackgroundError} It failed: the message has what the target said.
   */
  async #ask(
    path: string,
    script: string,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    // No option is meant by a name that begins with a hyphen. Of a session's shell nothing is changed.
    const whole = `(path=${quoted(path.startsWith("-") ? `./${path}` : path)}${script}\n)`;
    const options = signal === undefined ? {} : { signal };
    const { exitCode, output } = await this.#run(whole, options);
    if (exitCode === MISSING) return undefined;
    if (exitCode === 0 && output.startsWith(DONE)) return output.slice(DONE.length + 1);
    // A shell says its own name first, and the number of a line.
    const said = output.trim().split("\n").at(-1) ?? "";
    return refused(path, said === "" ? `exit code ${exitCode}` : said);
  }
}

function refused(path: string, reason: string): never {
  throw new BackgroundError(`${path}: ${reason}`, { operation: "files", output: reason });
}

/** The bytes that a script gives as base64. */
function bytesOf(said: string): Uint8Array {
  const base64 = said.replaceAll(/\s+/g, "");
  const bytes = fromBase64(base64);
  if (bytes !== undefined) return bytes;
  const [problem = ""] = said.trim().split("\n").slice(-1);
  throw new BackgroundError(problem, { operation: "files", output: said });
}

/** A text as lines that any program reads. */
function lines(base64: string): string {
  return base64.replaceAll(/.{76}/g, "$&\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
