import type { Background, BackgroundProcess } from "sandpipe";
import { textOf, useSubmission } from "../form.js";
import { Failure } from "../message.js";

/** Starts a process that outlives the page. */
export function SpawnForm({
  background,
  onSpawn,
}: {
  background: Background;
  onSpawn: (process: BackgroundProcess) => void;
}) {
  const { busy, error, submit } = useSubmission();

  async function spawn(form: HTMLFormElement) {
    const [name, cwd] = [textOf(form, "name").trim(), textOf(form, "cwd").trim()];
    const place = { ...(name === "" ? {} : { name }), ...(cwd === "" ? {} : { cwd }) };
    onSpawn(await background.spawn(textOf(form, "script"), place));
    form.reset();
  }

  return (
    <form
      class="card"
      aria-label="Start a process"
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        void submit(() => spawn(form));
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
