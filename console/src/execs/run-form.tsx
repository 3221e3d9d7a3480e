import { useRef } from "preact/hooks";
import type { CreateExecRequest, ExecItem, Execs } from "sandpipe";
import { textOf, useSubmission } from "../form.js";
import { Failure } from "../message.js";
import { commandOf, INTERPRETERS, type Interpreter } from "./command-line.js";
import { environmentOf } from "./environment.js";

/** Runs a command. */
export function RunForm({ execs, onRun }: { execs: Execs; onRun: (item: ExecItem) => void }) {
  const { busy, error, submit } = useSubmission();
  const form = useRef<HTMLFormElement>(null);

  const run = (request: () => CreateExecRequest) =>
    submit(async () => {
      onRun(await execs.create(request()));
    });

  const field = (name: string) => (form.current === null ? "" : textOf(form.current, name));
  const place = () => {
    const cwd = field("cwd").trim();
    return { env: environmentOf(field("env")), ...(cwd === "" ? {} : { cwd }) };
  };
  const command = () => {
    const pty = field("pty") !== "";
    return {
      ...commandOf(field("line"), field("interpreter") as Interpreter),
      ...place(),
      pty,
      // Without a terminal there is no keyboard: a command that reads finds the end of its input.
      interactive: pty,
    };
  };

  return (
    <form
      ref={form}
      class="run card"
      aria-label="Run a command"
      onSubmit={(event) => {
        event.preventDefault();
        void run(command);
      }}
    >
      <label>
        Command
        <input
          name="line"
          class="code"
          required
          spellcheck={false}
          autocapitalize="off"
          autocomplete="off"
          placeholder="npm test"
        />
      </label>
      <div class="fields">
        <label>
          Shell
          <select name="interpreter">
            {INTERPRETERS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label class="check">
          <input name="pty" type="checkbox" />
          Terminal
        </label>
        <button
          type="button"
          class="push"
          disabled={busy}
          onClick={() => {
            void run(() => ({ command: "bash", args: ["-i"], pty: true, ...place() }));
          }}
        >
          Open a shell
        </button>
        <button class="primary" disabled={busy}>
          Run
        </button>
      </div>
      <details>
        <summary>Directory and environment</summary>
        <div class="fields">
          <label>
            Directory
            <input name="cwd" class="code" spellcheck={false} placeholder="the agent’s workspace" />
          </label>
          <label class="wide">
            Environment, NAME=VALUE a line
            <textarea name="env" class="code" rows={2} spellcheck={false} />
          </label>
        </div>
      </details>
      <Failure error={error} />
    </form>
  );
}
