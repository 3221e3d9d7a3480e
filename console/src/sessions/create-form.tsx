import type { Session, Sessions } from "sandpipe";
import { textOf, useSubmission } from "../form.js";
import { Failure } from "../message.js";

/** Starts a shell that remembers. */
export function CreateForm({
  sessions,
  onCreate,
}: {
  sessions: Sessions;
  onCreate: (session: Session, name: string) => void;
}) {
  const { busy, error, submit } = useSubmission();

  async function create(form: HTMLFormElement) {
    const [shell, cwd] = [textOf(form, "shell"), textOf(form, "cwd").trim()];
    const session = await sessions.create({ shell, ...(cwd === "" ? {} : { cwd }) });
    onCreate(session, cwd === "" ? shell : `${shell} in ${cwd}`);
  }

  return (
    <form
      class="card"
      aria-label="Start a session"
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        void submit(() => create(form));
      }}
    >
      <div class="fields">
        <label class="wide">
          Directory
          <input class="code" name="cwd" spellcheck={false} placeholder="the agent’s workspace" />
        </label>
        <label>
          Shell
          <select name="shell">
            <option>bash</option>
            <option>dash</option>
          </select>
        </label>
        <button class="primary" disabled={busy}>
          {busy ? "Starting…" : "Start a session"}
        </button>
      </div>
      <Failure error={error} />
    </form>
  );
}
