import { useState } from "preact/hooks";
import type { Session, Sessions } from "sandpipe";
import { textOf } from "../form.js";
import { Failure } from "../message.js";

/** Starts a shell that remembers. */
export function CreateForm({
  sessions,
  onCreate,
}: {
  sessions: Sessions;
  onCreate: (session: Session, name: string) => void;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();

  async function create(form: HTMLFormElement) {
    setBusy(true);
    setError(undefined);
    try {
      const [shell, cwd] = [textOf(form, "shell"), textOf(form, "cwd").trim()];
      const session = await sessions.create({ shell, ...(cwd === "" ? {} : { cwd }) });
      onCreate(session, cwd === "" ? shell : `${shell} in ${cwd}`);
    } catch (error) {
      setError(error);
    } finally {
      setBusy(false);
    }
  }

  return (
    <form
      class="card"
      aria-label="Start a session"
      onSubmit={(event) => {
        event.preventDefault();
        void create(event.currentTarget);
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
