import type { Session, Sessions } from "sandpipe";
import { textOf, useSubmission } from "../form.js";
import { Failure } from "../message.js";
import "../runs/run-bar.css";

/** Starts a shell that remembers. */
export function CreateForm({
  sessions,
  onCreate,
}: {
  sessions: Sessions;
  onCreate: (session: Session, name: string) => void;
}) {
  const { busy, error, submit, forget } = useSubmission();

  async function create(form: HTMLFormElement) {
    const [shell, cwd] = [textOf(form, "shell"), textOf(form, "cwd").trim()];
    const session = await sessions.create({ shell, ...(cwd === "" ? {} : { cwd }) });
    onCreate(session, cwd === "" ? shell : `${shell} in ${cwd}`);
  }

  return (
    <form
      class="run-bar"
      aria-label="Start a session"
      onInput={forget}
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        void submit(() => create(form));
      }}
    >
      <div class="run-line">
        <span class="run-field">
          <input
            class="code"
            name="cwd"
            aria-label="Directory"
            spellcheck={false}
            placeholder="Directory: the agent’s workspace"
            data-shortcut="n"
          />
          <select name="shell" aria-label="Shell">
            <option>bash</option>
            <option>dash</option>
          </select>
        </span>
        <button class="primary" disabled={busy}>
          {busy ? "Starting…" : "Start a session"}
        </button>
      </div>
      <Failure error={error} />
    </form>
  );
}
