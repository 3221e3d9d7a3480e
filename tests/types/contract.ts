import { expectTypeOf } from "expect-type";
import {
  background,
  connect,
  isSandpipeError,
  type Background,
  type BackgroundProcess,
  type CreatedToken,
  type CreateExecRequest,
  type ExecItem,
  type ExecResult,
  type ExecStdout,
  type FileInfo,
  type FileType,
  type PortInfo,
  type RunResult,
  type Runtime,
  type Sandbox,
  type Session,
  type TokenInfo,
} from "sandpipe";
import {
  createSandbox,
  localRuntime,
  sshRuntime,
  startAgent,
  toGitBashPath,
  toWindowsPath,
  type EmbeddedSandbox,
  type SshRuntime,
} from "sandpipe/node";
import module from "sandpipe/sandpipe.wasm";
import { tools, type Tool, type ToolProgress } from "sandpipe/tools";

export async function embedded() {
  await using agent = await startAgent();
  expectTypeOf(agent.url).toEqualTypeOf<string>();
  expectTypeOf(agent.token).toEqualTypeOf<string>();
  expectTypeOf(agent.stop()).toEqualTypeOf<Promise<void>>();
}

export async function contract() {
  using sandbox = await connect({ url: new URL("http://127.0.0.1:1"), token: "", wasm: module });
  expectTypeOf(sandbox).toEqualTypeOf<Sandbox>();
  const { execs } = sandbox;

  const result = await execs.exec("sh", ["-c", "true"], {
    cwd: "/",
    env: { NAME: "value" },
    onOutput(event) {
      expectTypeOf(event).toEqualTypeOf<ExecStdout>();
    },
  });
  expectTypeOf(result).toEqualTypeOf<ExecResult>();
  expectTypeOf(result.durationMs).toEqualTypeOf<number | undefined>();
  expectTypeOf(execs.exec("true").id).toEqualTypeOf<Promise<string>>();
  await sandbox.files.write("data.tar", (await fetch("http://127.0.0.1")).body);
  await execs.create({ command: "true", policy: { network: "none" } });
  await execs.exec("true", [], { stdout: { write: () => true }, stderr: new WritableStream() });
  await execs.wait("1", { stdout: "ignore", onOutput: () => Promise.resolve() });
  expectTypeOf(result.exitCode).toEqualTypeOf<number>();
  expectTypeOf(result.output).toEqualTypeOf<string>();
  expectTypeOf(result.stderr).toEqualTypeOf<string>();
  const inBytes = await execs.exec("sh", [], {
    encoding: "bytes",
    input: new Uint8Array(1),
    onOutput(event) {
      expectTypeOf(event.output).toEqualTypeOf<Uint8Array>();
    },
  });
  expectTypeOf(inBytes).toEqualTypeOf<ExecResult<Uint8Array>>();
  expectTypeOf(inBytes.stdout).toEqualTypeOf<Uint8Array>();
  expectTypeOf(await execs.wait("id", { encoding: "bytes" })).toEqualTypeOf(inBytes);
  for await (const event of execs.streamOutput("id", 0, { encoding: "bytes" }))
    expectTypeOf(event.output).toEqualTypeOf<Uint8Array>();
  // @ts-expect-error exec() says itself whether the command starts.
  await execs.exec("sh", [], { autostart: false });

  const snapshot = await execs.getOutput("id", 0);
  expectTypeOf(snapshot.exitCode).toEqualTypeOf<number | undefined>();
  expectTypeOf(snapshot.lastSequence).toEqualTypeOf<number>();

  for await (const event of execs.streamOutput("id", 0, { signal: AbortSignal.abort() })) {
    expectTypeOf(event.type).toEqualTypeOf<"stdout" | "stderr">();
  }
  for await (const event of await execs.streamOutput("id"))
    expectTypeOf(event).toEqualTypeOf<ExecStdout>();
  for await (const { execs: items } of execs.streamList())
    expectTypeOf(items).toEqualTypeOf<ExecItem[]>();

  const request: CreateExecRequest = { command: "cat", pty: true, cols: 100, rows: 30 };
  expectTypeOf(await execs.create(request)).toEqualTypeOf<ExecItem>();
  expectTypeOf(await execs.sendStdin("id", { input: "text" })).toEqualTypeOf<ExecItem>();
  expectTypeOf(await execs.sendStdin("id", { input: new Uint8Array() })).toEqualTypeOf<ExecItem>();
  expectTypeOf(await execs.sendStdin("id", "text")).toEqualTypeOf<ExecItem>();
  expectTypeOf(await execs.sendStdin("id", new Uint8Array())).toEqualTypeOf<ExecItem>();
  const stream = new ReadableStream<Uint8Array>();
  async function* texts(): AsyncGenerator<string> {
    yield await Promise.resolve("text");
  }
  for (const input of ["text", new Uint8Array(), stream, texts()]) {
    await execs.exec("cat", [], { input });
  }
  expectTypeOf(execs.sendStdin("id", stream)).toEqualTypeOf<Promise<void>>();
  const terminal = await execs.attach("id");
  for await (const event of terminal) expectTypeOf(event).toEqualTypeOf<ExecStdout>();
  expectTypeOf(terminal.output).toEqualTypeOf<AsyncIterableIterator<ExecStdout>>();
  expectTypeOf(terminal.write("text")).toEqualTypeOf<Promise<void>>();
  expectTypeOf(terminal.resize(80, 24)).toEqualTypeOf<Promise<void>>();
  expectTypeOf(terminal.exited).toEqualTypeOf<Promise<number>>();
  terminal.close();
  expectTypeOf(execs.delete("id")).toEqualTypeOf<Promise<void>>();
  const removed = execs.remove({ endedBefore: new Date(), keep: 1 });
  expectTypeOf(removed).toEqualTypeOf<Promise<string[]>>();
  const { createdAt, startedAt, endedAt, argsTruncated } = await execs.get("id");
  expectTypeOf([createdAt, startedAt, endedAt]).toEqualTypeOf<(string | undefined)[]>();
  expectTypeOf(argsTruncated).toEqualTypeOf<boolean | undefined>();
}

export async function sessions(sandbox: Sandbox) {
  const options = { cwd: "/", env: { NAME: "value" }, user: "root", shell: "dash" };
  await using session = await sandbox.sessions.create(options);
  expectTypeOf(session).toEqualTypeOf<Session>();
  expectTypeOf(session.run("true", { timeoutMs: 1 })).toEqualTypeOf<Promise<RunResult>>();
  expectTypeOf(session.close()).toEqualTypeOf<Promise<void>>();
  expectTypeOf(session).toExtend<Runtime>();
  // @ts-expect-error A session has no terminal.
  await sandbox.sessions.create({ pty: true });
}

export async function runtimes() {
  await using ssh = sshRuntime({ host: "example.com", port: 22, user: "me", identityFile: "key" });
  expectTypeOf(ssh).toEqualTypeOf<SshRuntime>();
  const runtime: Runtime = ssh;
  const { signal } = new AbortController();
  expectTypeOf(await runtime.run("true", { signal })).toEqualTypeOf<RunResult>();
  // @ts-expect-error Where is it?
  sshRuntime({ user: "me" });
}

export async function ownSandbox() {
  await using sandbox = await createSandbox({ workspace: "." });
  expectTypeOf(sandbox).toEqualTypeOf<EmbeddedSandbox>();
  expectTypeOf(sandbox).toExtend<Sandbox>();
  expectTypeOf(sandbox.stop({ forceSignal: AbortSignal.abort() })).toEqualTypeOf<Promise<void>>();
  // @ts-expect-error It has a typing error.
  await createSandbox({ policy: "worksapce" });
}

export async function policies() {
  await startAgent({ policy: "strict" });
  await startAgent({ policy: "./policies/build" });
  await startAgent({ policy: "/etc/policy" });
  await startAgent({ policy: "policy.json" });
  await startAgent({ policy: { extends: ["strict"] } });
  // @ts-expect-error It has a typing error.
  await startAgent({ policy: "worksapce" });
  // @ts-expect-error So has this.
  await startAgent({ polciy: "strict" });
}

export async function processes(sandbox: Sandbox) {
  expectTypeOf(sandbox).toExtend<Runtime>();
  expectTypeOf(sandbox.background).toEqualTypeOf<Background>();
  expectTypeOf(localRuntime({ shell: "bash" })).toEqualTypeOf<Runtime>();
  expectTypeOf(toGitBashPath("C:\\a")).toEqualTypeOf<string>();
  expectTypeOf(toWindowsPath("/c/a")).toEqualTypeOf<string>();
  expectTypeOf(await sandbox.policy()).toEqualTypeOf<string | undefined>();
  const { exitCode, output } = await sandbox.run("true", { signal: AbortSignal.timeout(1) });
  expectTypeOf(exitCode).toEqualTypeOf<number>();
  expectTypeOf(output).toEqualTypeOf<string>();

  const inWorkspace = background(sandbox, { baseDir: "~/.sandpipe", namespace: "w" });
  const options = { name: "n", cwd: "/", env: { A: "" }, timeoutMs: 1 };
  const spawned = await inWorkspace.spawn("true", options);
  expectTypeOf(spawned).toEqualTypeOf<BackgroundProcess>();
  expectTypeOf(spawned.status).toEqualTypeOf<"running" | "exited" | "killed" | "failed">();
  expectTypeOf(spawned.exitCode).toEqualTypeOf<number | undefined>();
  expectTypeOf(await inWorkspace.list()).toEqualTypeOf<BackgroundProcess[]>();
  expectTypeOf(await inWorkspace.get("id")).toEqualTypeOf<BackgroundProcess>();
  expectTypeOf(await inWorkspace.wait("id", { timeoutMs: 1 })).toEqualTypeOf<BackgroundProcess>();
  expectTypeOf(
    await inWorkspace.terminate("id", { graceMs: 1 }),
  ).toEqualTypeOf<BackgroundProcess>();
  expectTypeOf(inWorkspace.remove("id")).toEqualTypeOf<Promise<void>>();
  const piece = await inWorkspace.readOutput("id", {
    ...{ stream: "both", offset: 0, maxBytes: 4, tailBytes: 1 },
    ...{ filter: "x", exclude: true, waitMs: 1 },
  } as const);
  expectTypeOf(piece.output).toEqualTypeOf<string>();
  expectTypeOf(piece.nextOffset).toEqualTypeOf<number>();
  const result = await inWorkspace.run("true", {
    ...{ waitTimeoutMs: 1, check: true, captureExitCode: true, maxOutputBytes: 1 },
    ...{ ignoreOutput: true, outputFile: "x" },
  });
  expectTypeOf(result.exitCode).toEqualTypeOf<number>();
  expectTypeOf(result.timedOut).toEqualTypeOf<boolean | undefined>();
  expectTypeOf(result.id).toEqualTypeOf<string | undefined>();
  expectTypeOf(result.failureReason).toEqualTypeOf<string | undefined>();
}

export async function agentTools(sandbox: Sandbox) {
  const options = { baseDir: "/", workspace: "w", maxOutputChars: 100, timeoutSecs: 1 };
  const [bash, list, output, terminate] = tools(sandbox, options);
  expectTypeOf(bash).toEqualTypeOf<Tool<"bash">>();
  expectTypeOf(list.name).toEqualTypeOf<"bash_background_list">();
  expectTypeOf(output.name).toEqualTypeOf<"bash_background_output">();
  expectTypeOf(terminate.name).toEqualTypeOf<"bash_background_terminate">();
  // As frameworks want a JSON Schema.
  const schema: Record<string, unknown> & { type: "object"; required?: string[] } =
    bash.inputSchema;
  expectTypeOf(schema.type).toEqualTypeOf<"object">();
  const { signal } = new AbortController();
  const onProgress = (progress: ToolProgress) => progress.newest;
  expectTypeOf(await bash.execute({}, { signal, onProgress })).toEqualTypeOf<string>();
}

export async function filesAndPorts(sandbox: Sandbox) {
  const { files, ports, execs } = sandbox;
  const { signal } = new AbortController();
  expectTypeOf(await files.read("a", { signal })).toEqualTypeOf<string>();
  expectTypeOf(await files.bytes({ raw: "%FF" })).toEqualTypeOf<Uint8Array>();
  const stream = files.readStream("a", { offset: 1, length: 2, signal });
  const { done, value } = await stream.getReader().read();
  if (!done) expectTypeOf(value).toEqualTypeOf<Uint8Array>();
  expectTypeOf(stream).toExtend<ReadableStream<Uint8Array>>();
  new Response(stream);
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(new Uint8Array());
  }
  for (const data of ["text", new Uint8Array(), new Blob(), stream, bytes()]) {
    const options = { mode: 0o644, append: true, create: "new", signal } as const;
    const info = await files.write("a", data, {
      ...options,
      onProgress(progress) {
        expectTypeOf(progress).toEqualTypeOf<{ bytes: number; total?: number }>();
      },
    });
    expectTypeOf(info).toEqualTypeOf<FileInfo>();
    await files.remove(info);
  }
  // @ts-expect-error It is no data.
  await files.write("a", 1);
  expectTypeOf(await files.list(".", { depth: 2 })).toEqualTypeOf<FileInfo[]>();
  const { size, modTime, isDir, type, mode, raw } = await files.stat("a");
  expectTypeOf([size, mode]).toEqualTypeOf<(number | undefined)[]>();
  expectTypeOf([modTime, raw]).toEqualTypeOf<(string | undefined)[]>();
  expectTypeOf(isDir).toEqualTypeOf<boolean>();
  expectTypeOf(type).toEqualTypeOf<FileType | undefined>();
  expectTypeOf(await files.exists("a", { user: "nobody:12" })).toEqualTypeOf<boolean>();
  expectTypeOf(files.mkdir("a")).toEqualTypeOf<Promise<void>>();
  expectTypeOf(files.move("a", "b")).toEqualTypeOf<Promise<void>>();
  expectTypeOf(files.copy("a", "b", { recursive: true, user: "nobody" })).toEqualTypeOf<
    Promise<void>
  >();
  const changes = files.watch(".", { recursive: true, ignore: ["x"], signal });
  expectTypeOf(changes.ready).toEqualTypeOf<Promise<void>>();
  for await (const change of changes) {
    expectTypeOf(change.type).toEqualTypeOf<"add" | "change" | "remove" | "rename" | "overflow">();
    expectTypeOf(change.to).toEqualTypeOf<string | undefined>();
  }

  expectTypeOf(await ports.list()).toEqualTypeOf<PortInfo[]>();
  const scopes = { readExecs: ["id"], typeInto: ["id"], readFiles: "a", writeFiles: "a" };
  expectTypeOf(
    await sandbox.tokens.create({ expiresInMs: 1, createCommands: true, ...scopes }),
  ).toEqualTypeOf<CreatedToken>();
  // @ts-expect-error A token has a life time.
  void sandbox.tokens.create({ createCommands: true });
  expectTypeOf(await sandbox.tokens.list()).toEqualTypeOf<TokenInfo[]>();
  expectTypeOf(sandbox.tokens.revoke("id")).toEqualTypeOf<Promise<void>>();
  for await (const { ports: listed } of ports.streamList({ signal }))
    expectTypeOf(listed).toEqualTypeOf<PortInfo[]>();
  expectTypeOf(
    await ports.waitFor(80, { timeoutMs: 1, signal, exec: "id" }),
  ).toEqualTypeOf<PortInfo>();

  const text = await execs.waitForOutput("id", "ready", { timeoutMs: 1, signal, lastSequence: 0 });
  expectTypeOf(text.match).toEqualTypeOf<string>();
  expectTypeOf(text.event).toEqualTypeOf<ExecStdout>();
  const { match } = await execs.waitForOutput("id", /port (\d+)/);
  expectTypeOf(match).toEqualTypeOf<RegExpExecArray>();
  const found = await sandbox.background.waitForOutput("id", /x/, { offset: 0, timeoutMs: 1 });
  expectTypeOf(found.match).toEqualTypeOf<RegExpExecArray>();
  expectTypeOf(found.stream).toEqualTypeOf<"stdout" | "stderr">();
  expectTypeOf(sandbox.background.waitForPort("id", 80, { signal })).toEqualTypeOf<Promise<void>>();
}

export function errors(error: unknown) {
  if (isSandpipeError(error, "not_ready")) {
    expectTypeOf(error.exitCode).toEqualTypeOf<number | undefined>();
    expectTypeOf(error.output).toEqualTypeOf<string>();
  }
  if (isSandpipeError(error, "file_changed")) expectTypeOf(error.path).toEqualTypeOf<string>();
  if (isSandpipeError(error, "outcome_unknown"))
    expectTypeOf(error.operation).toEqualTypeOf<string>();
  if (isSandpipeError(error, "ssh")) expectTypeOf(error.mayHaveRun).toEqualTypeOf<boolean>();
  if (isSandpipeError(error, "session")) {
    expectTypeOf(error.execId).toEqualTypeOf<string>();
    expectTypeOf(error.output).toEqualTypeOf<string>();
  }
  if (isSandpipeError(error) && error.code === "exit_code_missing") {
    expectTypeOf(error.execId).toEqualTypeOf<string>();
  }
  if (isSandpipeError(error, "timeout"))
    expectTypeOf(error.output).toEqualTypeOf<string | Uint8Array>();
  if (isSandpipeError(error, "exit_code_missing"))
    expectTypeOf(error.hint).toEqualTypeOf<string | undefined>();
}
