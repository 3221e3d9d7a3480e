import { ArrowDownToLine, ChevronLeft, Unplug } from "lucide";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isSandpipeError, type ExecItem, type Execs } from "sandpipe";
import { useNow } from "../clock.js";
import { attemptText, type Connection } from "../connection/state.js";
import { Icon } from "../design/icon.js";
import { Failure } from "../message.js";
import { lineOf } from "../runs/command-line.js";
import { CommandText } from "../runs/command-text.js";
import type { RunActions } from "../runs/row.js";
import { detailOf, stateOf } from "../runs/state.js";
import { StateBadge } from "../runs/state-badge.js";
import { durationOf, hasEnded, isRunning } from "../runs/status.js";
import type { Stopping } from "../runs/stopping.js";
import { durationText, elapsedText } from "../runs/time-text.js";
import { useStore } from "../store.js";
import { SearchBar } from "../terminal/search-bar.js";
import type { Output } from "./output.js";
import { PaneTools } from "./pane-tools.js";
import { STREAMS, type Streams } from "./streams.js";
import { useTransfer } from "./transfer.js";
import "./pane.css";

/** Whether it takes text, and not that of the command that is run. */
function isTypedInto(element: Element | null): boolean {
  return (
    element?.matches("input, textarea, select") === true && element.closest("form.run-bar") === null
  );
}

/** The output of a run, what became of it, and what can be done with it. */
export function Pane({
  execs,
  item,
  output,
  connection,
  stopping,
  actions,
  onBack,
}: {
  execs: Execs;
  item: ExecItem;
  output: Output;
  connection: Connection;
  stopping: Stopping | undefined;
  actions: RunActions;
  onBack: () => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const tools = useRef<HTMLDivElement>(null);
  const [isSearching, setSearching] = useState(false);
  const [whole, setWhole] = useState<ExecItem>();
  const now = useNow();
  const status = useStore(output.status);
  const command = whole ?? item;
  const name = lineOf(command);
  const transfer = useTransfer(execs, item, output);

  useEffect(() => {
    // A list has only the beginning of a long command line, which has to do where it is all there is.
    if (item.argsTruncated === true) void execs.get(item.id).then(setWhole, () => undefined);
  }, [execs, item.id, item.argsTruncated]);

  useLayoutEffect(() => {
    if (place.current === null) return;
    output.show({
      element: place.current,
      label: item.pty ? `Terminal of ${name}` : `Output of ${name}`,
      onLeave: () => tools.current?.querySelector("button")?.focus(),
      mayFocus: () => !isTypedInto(document.activeElement),
    });
    return () => {
      output.hide();
    };
  }, [output]);

  const isLive = connection.state === "live";
  const state = stateOf(item, isLive, stopping);
  const duration = durationOf(item, now);
  const code = hasEnded(item) && item.exitCode >= 0 ? item.exitCode : status.exitCode;
  // In words of its own: what the package says is for programs.
  const isLost = state.kind === "lost" && isSandpipeError(status.error, "exit_code_missing");
  const facts = [
    detailOf(state, now),
    code === undefined ? "" : `exit code ${code}`,
    duration === undefined || !hasEnded(item) ? "" : `took ${durationText(duration)}`,
    command.cwd ?? "",
    command.policy === undefined ? "" : `policy ${command.policy}`,
    item.pid === 0 ? "" : `pid ${item.pid}`,
  ].filter((fact) => fact !== "");
  return (
    <section
      class="pane"
      role="tabpanel"
      id={`pane-${item.id}`}
      aria-label={`Output of ${name}`}
      data-output={item.id}
    >
      <div key="head" class="pane-head">
        <button class="quiet square narrow-only" aria-label="Back to the list" onClick={onBack}>
          <Icon of={ChevronLeft} />
        </button>
        <div class="pane-title">
          <h2 class="code" title={name}>
            <CommandText item={command} />
          </h2>
          <p class="pane-facts">
            <StateBadge
              state={state}
              more={state.kind === "running" && duration !== undefined ? elapsedText(duration) : ""}
            />
            {facts.map((fact) => (
              <span key={fact}>{fact}</span>
            ))}
          </p>
        </div>
        <PaneTools
          place={tools}
          item={item}
          stopping={stopping}
          isSearching={isSearching}
          onSearch={() => {
            setSearching(!isSearching);
          }}
          onCopy={() => void transfer.copy()}
          onDownload={() => void transfer.download()}
          actions={actions}
        />
      </div>
      {!isLive && (
        <p class="pane-loss">
          <Icon of={Unplug} size={14} />
          <span>
            Not live:{" "}
            {hasEnded(item)
              ? "this run had ended before."
              : "what has become of this run since is not known."}{" "}
            {connection.state === "lost" && attemptText(connection.next, now)}
          </span>
        </p>
      )}
      {isSearching && (
        <SearchBar
          screen={output.screen}
          isWhole={status.before === "nothing"}
          onClose={() => {
            setSearching(false);
            tools.current?.querySelector<HTMLElement>("[data-find]")?.focus();
          }}
        />
      )}
      <Failure error={stopping?.phase === "failed" ? stopping.error : undefined} />
      {isLost ? (
        <p class="pane-note">
          The agent ended while this ran, and no command outlives its agent. What it wrote up to
          then is below; its exit code is not known.
        </p>
      ) : (
        <Failure error={status.error} />
      )}
      {status.error !== undefined && !isLost && (
        <button
          class="small pane-again"
          onClick={() => {
            output.reopen();
          }}
        >
          Read it again
        </button>
      )}
      {status.before !== "nothing" && (
        <p class="pane-before">
          {status.before === "dropped" ? (
            status.dropReason === undefined ? (
              "The agent does not have what came before this any more."
            ) : (
              `Output before this is lost: ${status.dropReason}.`
            )
          ) : (
            <>
              <span>This is not the beginning.</span>
              <button
                class="quiet small"
                disabled={status.before === "loading"}
                onClick={() => void output.loadOlder()}
              >
                {status.before === "loading" ? "Loading…" : "Load what came before"}
              </button>
            </>
          )}
        </p>
      )}
      {/* By its key it stays the same element whatever comes and goes above: a terminal is in it. */}
      <div key="body" class="pane-body">
        <div key="screen" class="screen" ref={place} />
        {!status.isAtEnd && (
          <button
            class="jump small"
            onClick={() => {
              output.jumpToEnd();
            }}
          >
            <Icon of={ArrowDownToLine} size={14} />
            Jump to the end
          </button>
        )}
      </div>
      <div key="foot" class="pane-foot">
        {!item.pty && <StreamChoice output={output} />}
        {item.pty && isRunning(item) && (
          <span class="hint">
            <kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>↑</kbd> leaves the terminal
          </span>
        )}
        <span class="notice" role="status">
          {transfer.notice}
        </span>
        <Failure error={transfer.error} />
      </div>
    </section>
  );
}

/** Which of a command's two streams are shown. */
function StreamChoice({ output }: { output: Output }) {
  const [streams, setStreams] = useState<Streams>(output.streams);
  return (
    <div class="stream-choice" role="group" aria-label="Streams">
      {Object.entries(STREAMS).map(([value, label]) => (
        <button
          key={value}
          class="segment"
          aria-pressed={streams === value}
          onClick={() => {
            setStreams(value as Streams);
            output.choose(value as Streams);
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
