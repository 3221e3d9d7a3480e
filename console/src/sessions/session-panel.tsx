import { Unplug } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import { isSandpipeError, type Session } from "sandpipe";
import { Icon } from "../design/icon.js";
import { textOf } from "../form.js";
import { Failure } from "../message.js";
import { marked } from "../output/streams.js";
import { StateBadge } from "../runs/state-badge.js";
import { goesOn, stateOfRun, withOutput, withRun, type Run } from "./run.js";

/** A session: scripts that are run in it one after the other, each with its output and exit code. */
export function SessionPanel({
  session,
  name,
  isLive,
  onClosed,
}: {
  session: Session;
  name: string;
  isLive: boolean;
  onClosed: () => void;
}) {
  const [runs, setRuns] = useState<readonly Run[]>([]);
  const [error, setError] = useState<unknown>();
  const [closing, setClosing] = useState(false);
  const stops = useRef(
    new Map<number, { stop: AbortController; force: AbortController }>(),
  ).current;
  const blocks = useRef<HTMLDivElement>(null);

  const started = runs.at(-1)?.number ?? 0;
  const change = (number: number, changed: (run: Run) => Run) => {
    setRuns((before) => before.map((run) => (run.number === number ? changed(run) : run)));
  };
  async function run(script: string) {
    const number = started + 1;
    const controllers = { stop: new AbortController(), force: new AbortController() };
    stops.set(number, controllers);
    const begun: Run = { number, script, pieces: [], dropped: 0, outcome: { state: "running" } };
    setRuns((before) => withRun(before, begun));
    try {
      const { exitCode } = await session.run(script, {
        signal: controllers.stop.signal,
        forceSignal: controllers.force.signal,
        onOutput: (event) => {
          change(number, (run) => withOutput(run, event));
        },
      });
      change(number, (run) => ({ ...run, outcome: { state: "ended", exitCode } }));
    } catch (error) {
      const outcome: Run["outcome"] = isSandpipeError(error, "interrupted")
        ? { state: "stopped", exitCode: error.exitCode, forced: error.forced }
        : { state: "failed", error };
      change(number, (run) => ({ ...run, outcome }));
    } finally {
      stops.delete(number);
    }
  }
  const stop = (number: number) => {
    const controllers = stops.get(number);
    const killing = controllers?.stop.signal.aborted === true;
    (killing ? controllers.force : controllers?.stop)?.abort();
    change(number, (run) =>
      goesOn(run) ? { ...run, outcome: { state: "stopping", killing } } : run,
    );
  };
  async function close() {
    setClosing(true);
    try {
      await session.close();
      onClosed();
    } catch (error) {
      setError(error);
      setClosing(false);
    }
  }

  useEffect(() => {
    blocks.current?.scrollTo({ top: blocks.current.scrollHeight });
  }, [runs]);

  return (
    <section class="session" aria-label={`Session ${name}`}>
      <div class="pane-head">
        <div class="pane-title">
          <h2>{name}</h2>
        </div>
        <button
          class="small"
          disabled={closing}
          aria-label={`Close session ${name}`}
          onClick={() => void close()}
        >
          {closing ? "Closing…" : "Close"}
        </button>
      </div>
      {!isLive && (
        <p class="pane-loss">
          <Icon of={Unplug} size={14} />
          <span>Not live: whether this shell still runs is not known.</span>
        </p>
      )}
      <Failure error={error} />
      <div class="blocks" ref={blocks} tabIndex={0} role="group" aria-label="Runs of the session">
        {started > runs.length && (
          <p class="hint">{started - runs.length} runs before these are not shown any more.</p>
        )}
        <ol>
          {runs.map((run) => (
            <RunItem
              key={run.number}
              run={run}
              isLive={isLive}
              onStop={() => {
                stop(run.number);
              }}
            />
          ))}
        </ol>
      </div>
      <form
        class="session-input"
        aria-label="Run a script"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          void run(textOf(form, "script"));
          form.reset();
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          event.currentTarget.requestSubmit();
        }}
      >
        <textarea
          class="code"
          name="script"
          aria-label="Script (Ctrl+Enter runs it)"
          placeholder="Ctrl+Enter runs it"
          required
          rows={2}
          spellcheck={false}
        />
        <button class="primary">Run</button>
      </form>
    </section>
  );
}

function RunItem({ run, isLive, onStop }: { run: Run; isLive: boolean; onStop: () => void }) {
  const { script, pieces, dropped, outcome, number } = run;
  const state = stateOfRun(run, isLive);
  const action = outcome.state === "stopping" ? "Kill now" : "Stop";
  return (
    <li class={`block ${outcome.state}`}>
      <div class="block-head">
        <pre class="script">{script}</pre>
        {state && <StateBadge state={state} />}
        {goesOn(run) && (
          <button
            class="small danger"
            aria-label={`${action}: run ${number}`}
            disabled={outcome.state === "stopping" && outcome.killing}
            onClick={onStop}
          >
            {action}
          </button>
        )}
        {(outcome.state === "ended" || outcome.state === "stopped") && (
          <span class="unseen">exit code {outcome.exitCode}</span>
        )}
      </div>
      {dropped > 0 && <p class="hint">{dropped} characters before this are not shown.</p>}
      {pieces.length > 0 && (
        <pre class="output" tabIndex={0} role="group" aria-label={`Output of run ${number}`}>
          {pieces.map(({ type, output }, index) => (
            <span key={index} class={type}>
              {type === "stderr" ? marked(output) : output}
            </span>
          ))}
        </pre>
      )}
      <Failure error={outcome.state === "failed" ? outcome.error : undefined} />
    </li>
  );
}
