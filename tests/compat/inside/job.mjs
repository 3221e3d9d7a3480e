// @ts-check
/** The main job: what every application of the compatibility matrix does. It runs wherever the package does. */

/** The shell scripts that it runs. */
export const scripts = {
  exec: "echo hello; echo oops >&2; exit 3",
  abort: "echo up; sleep 600",
  leave: "i=0; while :; do i=$((i + 1)); echo line $i; sleep 0.02; done",
  // 20 MB, not all of it ASCII.
  large: "seq -f 'line %.0f: größer 正在编译 😀' 1000001 1500000; exit 5",
};

/**
 * @typedef {{ url: string, token: string }} Agent
 * @typedef {Awaited<ReturnType<typeof job>>} Found
 *
 * @param {import("sandpipe").Connect} connect
 * @param {import("sandpipe").ConnectOptions} options
 */
export async function job(connect, options) {
  const sandbox = await connect(options);
  const { execs } = sandbox;

  const exec = await execs.exec("sh", ["-c", scripts.exec]);

  const stop = new AbortController();
  const aborted = await execs
    .exec("sh", ["-c", scripts.abort], { signal: stop.signal, onOutput: () => stop.abort() })
    .then(
      () => undefined,
      (error) => error,
    );
  if (aborted?.code !== "interrupted") throw aborted ?? new Error("the command was not aborted");
  const stopped = await execs.get(aborted.execId);

  const { id } = await execs.create({ command: "sh", args: ["-c", scripts.leave] });
  let seen = "";
  for await (const { output } of execs.streamOutput(id)) {
    seen += output;
    if (seen.includes("line 3\n")) break;
  }
  const left = await execs.get(id);
  const terminated = await execs.terminate(id);

  const large = await execs.exec("sh", ["-c", scripts.large]);
  sandbox.close();
  return {
    exec: { exitCode: exec.exitCode, output: exec.output },
    abort: {
      ...{ name: aborted.name, exitCode: aborted.exitCode, output: aborted.output },
      ended: stopped.exitCode,
    },
    leave: {
      beginning: seen.slice(0, "line 1\nline 2\nline 3\n".length),
      ...{ status: left.status, ended: terminated.exitCode },
    },
    large: { exitCode: large.exitCode, length: large.output.length, hash: hash(large.output) },
  };
}

/**
 * FNV-1a of a text's UTF-16 code units: the same everywhere, also where there is no crypto.subtle.
 *
 * @param {string} text
 */
export function hash(text) {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
