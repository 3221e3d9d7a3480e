import type { Background, BackgroundProcess } from "sandpipe";
import { textOf, useSubmission } from "../form.js";
import { Failure } from "../message.js";
import "../runs/run-bar.css";

/** Starts a process that outlives the page. */
export function SpawnForm({
  background,
  onSpawn,
}: {
  background: Background;
  onSpawn: (process: BackgroundProcess) => void;
}) {
  const { busy, error, submit, forget } = useSubmission();

  async function spawn(form: HTMLFormElement) {
    const [name, cwd] = [textOf(form, "name").trim(), textOf(form, "cwd").trim()];
    const place = { ...(name === "" ? {} : { name }), ...(cwd === "" ? {} : { cwd }) };
    onSpawn(await background.spawn(textOf(form, "script"), place));
    form.reset();
  }

  return (
    <form
      class="run-bar"
      aria-label="Start a process"
      onInput={forget}
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        void submit(() => spawn(form));
      }}
    >
      <div class="run-line">
        <span class="run-field">
          <span class="prompt" aria-hidden="true">
            ❯
          </span>
          <textarea
            class="code"
            name="script"
            aria-label="Script"
            required
            rows={1}
            spellcheck={false}
            placeholder="npm run dev"
            data-shortcut="n"
            onInput={({ currentTarget: area }) => {
              area.rows = Math.min(6, area.value.split("\n").length);
            }}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              event.currentTarget.form?.requestSubmit();
            }}
          />
        </span>
        <input name="name" class="short" aria-label="Name" placeholder="Name" />
        <input
          class="code short"
          name="cwd"
          aria-label="Directory"
          spellcheck={false}
          placeholder="Directory"
        />
        <button class="primary" disabled={busy}>
          {busy ? "Starting…" : "Start"}
        </button>
      </div>
      <Failure error={error} />
    </form>
  );
}
