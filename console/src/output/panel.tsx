import { useEffect, useRef, useState } from "preact/hooks";
import { isSandpipeError, type ExecItem, type Execs, type ExecStdout } from "sandpipe";
import { CommandText } from "../execs/command-text.js";
import { lineOf } from "../execs/command-line.js";
import { exitCodeOf, hasEnded, isRunning, look } from "../execs/status.js";
import { StopButton } from "../execs/stop-button.js";
import { stoppingText, type Stops } from "../execs/stopping.js";
import { Failure } from "../message.js";
import { Screen } from "../terminal/screen.js";
import { SearchBar } from "../terminal/search-bar.js";
import { save, wholeOutput } from "./download.js";
import { follow } from "./follow.js";
import { Recent } from "./recent.js";
import { isShown, StreamMarker, STREAMS, unmarked, type Streams } from "./streams.js";

/** How many characters are kept to be shown again by another choice of streams. */
const RECENT = 2 * 1024 * 1024;

/** What a panel shows, and what it needs to show it otherwise. */
class Display {
  readonly #screen: Screen;
  readonly #recent = new Recent<ExecStdout>(RECENT);
  #marker = new StreamMarker();
  #streams: Streams = "all";
  lastSequence = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  take(event: ExecStdout, isOld: boolean): Promise<void> {
    this.lastSequence = event.sequence;
    this.#recent.push(event);
    return this.#show(event, isOld);
  }

  choose(streams: Streams): void {
    this.#streams = streams;
    this.#marker = new StreamMarker();
    this.#screen.clear();
    if (this.#recent.dropped) {
      void this.#screen.write("[The beginning is not shown any more. Download has all of it.]\n");
    }
    for (const event of this.#recent.pieces()) void this.#show(event, true);
  }

  #show(event: ExecStdout, isOld: boolean): Promise<void> {
    if (!isShown(event.type, this.#streams)) return Promise.resolve();
    return this.#screen.write(this.#marker.mark(event), isOld);
  }
}

/** Whether it takes text, and not that of the command that is run. */
function isTypedInto(element: Element | null): boolean {
  return (
    element?.matches("input, textarea, select") === true && element.closest("form.run") === null
  );
}

/** The output of an exec, live, and what can be done with it. */
export function OutputPanel({
  execs,
  item,
  stops,
  onClose,
}: {
  execs: Execs;
  item: ExecItem;
  stops: Stops;
  onClose: () => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const toolbar = useRef<HTMLDivElement>(null);
  const find = useRef<HTMLButtonElement>(null);
  const [screen, setScreen] = useState<Screen>();
  const [display, setDisplay] = useState<Display>();
  const [exitCode, setExitCode] = useState<number>();
  const [streams, setStreams] = useState<Streams>("all");
  const [searching, setSearching] = useState(false);
  const [error, setError] = useState<unknown>();
  const [notice, setNotice] = useState("");
  const [attempt, setAttempt] = useState(0);
  const [whole, setWhole] = useState<ExecItem>();
  const command = whole ?? item;
  const name = lineOf(command);

  useEffect(() => {
    // A list has only the beginning of a long command line, which has to do where it is all there is.
    if (item.argsTruncated === true) void execs.get(item.id).then(setWhole, () => undefined);
  }, [execs, item.id, item.argsTruncated]);

  useEffect(() => {
    if (place.current === null) return;
    const leaving = new AbortController();
    const screen = new Screen(place.current, {
      label: item.pty ? `Terminal of ${name}` : `Output of ${name}`,
      keyboard: item.pty && !hasEnded(item),
      plain: !item.pty,
      onLeave: () => toolbar.current?.querySelector("button")?.focus(),
    });
    const display = new Display(screen);
    setScreen(screen);
    setDisplay(display);
    setStreams("all");
    setError(undefined);
    place.current.closest("section")?.scrollIntoView({ block: "nearest" });
    const fail = (error: unknown) => {
      if (!leaving.signal.aborted) setError(error);
    };
    const useKeyboard = (terminal: {
      write: (text: string) => Promise<void>;
      resize: (cols: number, rows: number) => Promise<void>;
    }) => {
      if (!item.pty) return;
      screen.onInput((text) => void terminal.write(text).catch(fail));
      screen.onResize((cols, rows) => {
        terminal.resize(cols, rows).catch((error: unknown) => {
          // It has just ended, or only watches.
          if (!isSandpipeError(error, "http")) fail(error);
        });
      });
      if (!isTypedInto(document.activeElement)) screen.focus();
    };
    void follow(execs, item, leaving.signal, useKeyboard, async (event, isOld) => {
      await display.take(event, isOld);
      if (event.exitCode === undefined) return;
      setExitCode(event.exitCode);
      screen.endKeyboard();
    }).catch(fail);
    return () => {
      leaving.abort();
      screen.close();
    };
  }, [item.id, attempt]);

  async function download() {
    const ended = exitCode !== undefined || hasEnded(item);
    setNotice("Getting the output…");
    setError(undefined);
    try {
      const upTo = ended ? undefined : display?.lastSequence;
      const blob = await wholeOutput(execs, item.id, upTo, (size) => {
        setNotice(`Getting the output: ${Math.round(size / 1e6)} MB…`);
      });
      save(blob, `${item.id}.txt`);
      setNotice(ended ? "Downloaded." : "Downloaded, up to now.");
    } catch (error) {
      setNotice("");
      setError(error);
    }
  }

  async function copy() {
    const text = screen?.text() ?? "";
    try {
      await navigator.clipboard.writeText(item.pty ? text : unmarked(text));
      setNotice("Copied.");
    } catch (cause) {
      // Browsers give a page the clipboard over https, and on this machine.
      setError(
        new Error("The browser does not let this page copy. Download has all of it.", { cause }),
      );
    }
  }

  const stopping = stops.stoppingOf(item.id);
  const code = exitCodeOf(item) ?? exitCode;
  return (
    <section class="panel card" aria-label={`Output of ${name}`} data-output={item.id}>
      <div class="heading">
        <h2 class="code" title={name}>
          <CommandText item={command} />
        </h2>
        <span class={`status ${look(item)}`}>{item.status}</span>
        <span class="exit-code">{code === undefined ? "" : `exit code ${code}`}</span>
      </div>
      <div class="toolbar" ref={toolbar}>
        {isRunning(item) && <StopButton item={item} stops={stops} />}
        <button
          ref={find}
          aria-pressed={searching}
          onClick={() => {
            setSearching(!searching);
          }}
        >
          Find
        </button>
        <button onClick={() => void copy()}>Copy</button>
        <button onClick={() => void download()}>Download</button>
        {!item.pty && (
          <label>
            <span class="unseen">Streams</span>
            <select
              value={streams}
              onChange={(event) => {
                const chosen = event.currentTarget.value as Streams;
                setStreams(chosen);
                display?.choose(chosen);
              }}
            >
              {Object.entries(STREAMS).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="notice" role="status">
          {notice || stoppingText(stopping)}
        </span>
        <button class="close" aria-label={`Close the output of ${name}`} onClick={onClose}>
          Close
        </button>
      </div>
      {searching && (
        <SearchBar
          screen={screen}
          onClose={() => {
            setSearching(false);
            find.current?.focus();
          }}
        />
      )}
      <Failure error={stopping?.phase === "failed" ? stopping.error : undefined} />
      <Failure error={error} />
      {error !== undefined && (
        <button
          onClick={() => {
            setAttempt(attempt + 1);
          }}
        >
          Show it from the beginning
        </button>
      )}
      <div class="screen" ref={place} />
      {item.pty && isRunning(item) && (
        <p class="hint">
          <kbd>Ctrl</kbd>+<kbd>Shift</kbd>+<kbd>↑</kbd> leaves the terminal.
        </p>
      )}
    </section>
  );
}
