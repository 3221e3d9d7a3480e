import { ChevronDown, ChevronUp, CornerDownLeft, SlidersHorizontal, SquareTerminal } from "lucide";
import { useRef, useState } from "preact/hooks";
import type { CreateExecRequest, ExecItem } from "sandpipe";
import { Icon } from "../design/icon.js";
import { textOf, useSubmission } from "../form.js";
import { Failure } from "../message.js";
import { keep, kept } from "../tab-storage.js";
import { commandOf, INTERPRETERS, type Interpreter } from "./command-line.js";
import { environmentOf } from "./environment.js";
import { recalled, type Recall } from "./history.js";
import type { Runs } from "./runs.js";
import "./run-bar.css";

/** Runs a command. It collapses to a line. */
export function RunBar({ runs, onRun }: { runs: Runs; onRun: (item: ExecItem) => void }) {
  const [isCollapsed, setCollapsed] = useState(() => kept("run-bar") === "collapsed");
  const collapse = (collapsed: boolean) => {
    keep("run-bar", collapsed ? "collapsed" : "");
    setCollapsed(collapsed);
  };
  if (isCollapsed) {
    return (
      <div class="run-bar collapsed">
        <button
          class="quiet small"
          aria-expanded="false"
          data-shortcut="n"
          onClick={() => {
            collapse(false);
          }}
        >
          <Icon of={ChevronDown} size={14} />
          Run a command <kbd aria-hidden="true">n</kbd>
        </button>
      </div>
    );
  }
  return (
    <RunForm
      runs={runs}
      onRun={onRun}
      onCollapse={() => {
        collapse(true);
      }}
    />
  );
}

function RunForm({
  runs,
  onRun,
  onCollapse,
}: {
  runs: Runs;
  onRun: (item: ExecItem) => void;
  onCollapse: () => void;
}) {
  const { busy, error, submit, forget } = useSubmission();
  const form = useRef<HTMLFormElement>(null);
  const recall = useRef<Recall>({ index: -1, draft: "" });
  const [hasOptions, setOptions] = useState(false);

  const field = (name: string) => (form.current === null ? "" : textOf(form.current, name));
  const run = (request: () => CreateExecRequest, line?: string) =>
    submit(async () => {
      onRun(await runs.create(request(), line));
      recall.current = { index: -1, draft: "" };
      const area = form.current?.querySelector<HTMLTextAreaElement>("[name=line]");
      // What was typed meanwhile is another one.
      if (area === null || area === undefined || area.value !== line) return;
      area.value = "";
      fit(area);
    });
  const place = () => {
    const [cwd, policy] = [field("cwd").trim(), field("policy")];
    return {
      env: environmentOf(field("env")),
      ...(cwd === "" ? {} : { cwd }),
      ...(policy === "" ? {} : { policy }),
    };
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

  const onKeyDown = (event: KeyboardEvent) => {
    const area = event.currentTarget as HTMLTextAreaElement;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.current?.requestSubmit();
      return;
    }
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key] as 1 | -1 | undefined;
    if (step === undefined || !isAtEdge(area, step)) return;
    const next = recalled(runs.requests.lines, recall.current, area.value, step);
    if (next === undefined) return;
    event.preventDefault();
    recall.current = next.recall;
    area.value = next.text;
    fit(area);
  };

  return (
    <form
      ref={form}
      class="run-bar"
      aria-label="Run a command"
      onInput={forget}
      onSubmit={(event) => {
        event.preventDefault();
        void run(command, field("line"));
      }}
    >
      <div class="run-line">
        <span class="run-field">
          <span class="prompt" aria-hidden="true">
            ❯
          </span>
          <textarea
            name="line"
            class="code"
            rows={1}
            required
            aria-label="Command"
            spellcheck={false}
            autocapitalize="off"
            autocomplete="off"
            placeholder="npm test"
            data-shortcut="n"
            onKeyDown={onKeyDown}
            onInput={(event) => {
              recall.current = { index: -1, draft: "" };
              fit(event.currentTarget);
            }}
          />
          <select name="interpreter" aria-label="Shell" title="What reads the command line">
            {INTERPRETERS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </span>
        <label class="check" title="Run it in a terminal, with a keyboard">
          <input name="pty" type="checkbox" />
          Terminal
        </label>
        <button
          type="button"
          class="quiet square opener"
          aria-label="Options"
          title="Directory, environment, policy"
          aria-expanded={hasOptions}
          onClick={() => {
            setOptions(!hasOptions);
          }}
        >
          <Icon of={SlidersHorizontal} />
        </button>
        <button
          type="button"
          class="quiet"
          disabled={busy}
          aria-label="Open a shell"
          title="bash -i in a terminal"
          onClick={() => {
            void run(() => ({ command: "bash", args: ["-i"], pty: true, ...place() }));
          }}
        >
          <Icon of={SquareTerminal} />
          <span class="wide-only">Shell</span>
        </button>
        <button class="primary" disabled={busy} aria-label="Run">
          Run
          <Icon of={CornerDownLeft} size={14} />
        </button>
        <button
          type="button"
          class="quiet square wide-only"
          aria-label="Collapse the run bar"
          title="Collapse"
          aria-expanded="true"
          onClick={onCollapse}
        >
          <Icon of={ChevronUp} />
        </button>
      </div>
      <div class="run-options" hidden={!hasOptions}>
        <label>
          Directory
          <input name="cwd" class="code" spellcheck={false} placeholder="the agent’s workspace" />
        </label>
        <label>
          Environment, NAME=VALUE a line
          <textarea name="env" class="code" rows={2} spellcheck={false} />
        </label>
        <label>
          Policy
          <select name="policy">
            <option value="">the agent’s</option>
            <option>workspace</option>
            <option>offline</option>
            <option>strict</option>
          </select>
        </label>
      </div>
      <Failure error={error} />
    </form>
  );
}

/** Whether an arrow key would leave the text: ↑ in its first line, ↓ in its last one. */
function isAtEdge({ value, selectionStart }: HTMLTextAreaElement, step: 1 | -1): boolean {
  return step === 1
    ? !value.slice(0, selectionStart).includes("\n")
    : !value.slice(selectionStart).includes("\n");
}

/** As high as its text, up to a few lines: style sheets of some browsers can't say so. */
function fit(area: HTMLTextAreaElement): void {
  area.rows = Math.min(6, area.value.split("\n").length);
}
