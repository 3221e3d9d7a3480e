import { useState } from "preact/hooks";
import type { Background, BackgroundProcess } from "sandpipe";
import { textOf } from "../form.js";
import { Failure } from "../message.js";

/** Starts a process that outlives the page. */
export function SpawnForm({
  background,
  onSpawn,
}: {
  background: Background;
  onSpawn: (process: BackgroundProcess) => void;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();

  async function spawn(form: HTMLFormElement) {
    setBusy(true);
    setError(undefined);
    try {
      const [name, cwd] = [textOf(form, "name").trim(), textOf(form, "cwd").trim()];
      const place = { ...(name === "" ? {} : { name }), ...(cwd === "" ? {} : { cwd }) };
      onSpawn(await background.spawn(textOf(form, "script"), place));
      form.reset();
    } catch (error) {
      setError(error);
    } finally {
      setBusy(false);
    }
  }

  return (
    <form
      class="card"
      aria-label="Start a process"
      onSubmit={(event) => {
        event.preventDefault();
        void spawn(event.currentTarget);
      }}
    >
      <label>
        Script
        <textarea
          class="code"
          name="script"
          required
          rows={2}
          spellcheck={false}
          placeholder="npm run dev"
        />
      </label>
      <div class="fields">
        <label class="half">
          Name
          <input name="name" placeholder="dev server" />
        </label>
        <label class="half">
          Directory
          <input class="code" name="cwd" spellcheck={false} placeholder="the agent’s workspace" />
        </label>
        <button class="primary" disabled={busy}>
          {busy ? "Starting…" : "Start"}
        </button>
      </div>
      <Failure error={error} />
    </form>
  );
}
