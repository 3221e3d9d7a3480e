import { expectTypeOf } from "expect-type";
import {
  connect,
  isSandpipeError,
  type CreateExecRequest,
  type ExecItem,
  type ExecStdout,
  type Sandbox,
} from "sandpipe";
import { startAgent } from "sandpipe/node";
import module from "sandpipe/sandpipe.wasm";

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
  expectTypeOf(result.exitCode).toEqualTypeOf<number>();
  expectTypeOf(result.output).toEqualTypeOf<string>();
  // @ts-expect-error exec() says itself whether the command starts.
  await execs.exec("sh", [], { autostart: false });

  const snapshot = await execs.getOutput("id", 0);
  expectTypeOf(snapshot.exitCode).toEqualTypeOf<number | undefined>();

  for await (const event of execs.streamOutput("id", 0, { signal: AbortSignal.abort() })) {
    expectTypeOf(event.type).toEqualTypeOf<"stdout" | "stderr">();
  }
  for await (const event of await execs.streamOutput("id"))
    expectTypeOf(event).toEqualTypeOf<ExecStdout>();
  for await (const { execs: items } of execs.streamList())
    expectTypeOf(items).toEqualTypeOf<ExecItem[]>();

  const request: CreateExecRequest = { command: "cat", args: [] };
  expectTypeOf(await execs.create(request)).toEqualTypeOf<ExecItem>();
  expectTypeOf(await execs.sendStdin("id", { input: "text" })).toEqualTypeOf<ExecItem>();
  expectTypeOf(execs.delete("id")).toEqualTypeOf<Promise<void>>();
}

export function errors(error: unknown) {
  if (isSandpipeError(error, "exit_code_missing"))
    expectTypeOf(error.hint).toEqualTypeOf<string | undefined>();
}
