import { ChevronLeft, Unplug, X } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Background, BackgroundProcess } from "sandpipe";
import { Icon } from "../design/icon.js";
import { textOf } from "../form.js";
import { Failure } from "../message.js";
import { StateBadge } from "../runs/state-badge.js";
import { loadScreen } from "../terminal/load-screen.js";
import { stateOf } from "./state.js";
import { tail, type Grep } from "./tail.js";
import "../output/pane.css";

const EVERYTHING: Grep = { stream: "both", pattern: "", exclude: false };

/** The end of a process's output, as it grows: all of it, or the lines that are asked for. */
export function TailPanel({
  background,
  process,
  isLive,
  onClose,
}: {
  background: Background;
  process: BackgroundProcess;
  isLive: boolean;
  onClose: () => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const [grep, setGrep] = useState(EVERYTHING);
  const [error, setError] = useState<unknown>();
  const name = process.name ?? process.script;

  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const show = async () => {
      const Screen = await loadScreen();
      if (place.current === null || signal.aborted) return;
      const screen = new Screen(place.current, {
        label: `Output of ${name}`,
        keyboard: false,
        plain: true,
        onLeave: () => undefined,
      });
      signal.addEventListener("abort", () => {
        screen.close();
      });
      const take = (output: string) => {
        setError(undefined);
        return screen.write(output);
      };
      await tail(background, process.id, grep, signal, take, setError);
    };
    setError(undefined);
    show().catch((error: unknown) => {
      if (!signal.aborted) setError(error);
    });
    return () => {
      leaving.abort();
    };
  }, [process.id, grep]);

  return (
    <section class="pane" aria-label={`Output of ${name}`}>
      <div key="head" class="pane-head">
        <button class="quiet square narrow-only" aria-label="Back to the list" onClick={onClose}>
          <Icon of={ChevronLeft} />
        </button>
        <div class="pane-title">
          <h2 title={process.script}>{name}</h2>
          <p class="pane-facts">
            <StateBadge state={stateOf(process, isLive)} />
            <span>pid {process.pid}</span>
            <span class="code">{process.outputDir}</span>
          </p>
        </div>
        <div class="pane-tools">
          <button
            class="quiet square wide-only"
            aria-label={`Close the output of ${name}`}
            onClick={onClose}
          >
            <Icon of={X} />
          </button>
        </div>
      </div>
      {!isLive && (
        <p class="pane-loss">
          <Icon of={Unplug} size={14} />
          <span>Not live: the process may have gone on, or have ended.</span>
        </p>
      )}
      <form
        class="pane-filter"
        aria-label="Filter the output"
        onSubmit={(event) => {
          event.preventDefault();
          setGrep(grepOf(event.currentTarget));
        }}
      >
        <label class="grow">
          <span class="unseen">Lines that match (a regular expression)</span>
          <input
            class="code"
            name="pattern"
            type="search"
            placeholder="grep: error|warn"
            spellcheck={false}
          />
        </label>
        <label>
          <span class="unseen">Stream</span>
          <select name="stream">
            <option value="both">stdout and stderr</option>
            <option>stdout</option>
            <option>stderr</option>
          </select>
        </label>
        <label class="check">
          <input name="exclude" type="checkbox" />
          All but those
        </label>
        <button>Filter</button>
      </form>
      <Failure error={error} />
      {/* By its key it stays the same element whatever comes and goes above: a terminal is in it. */}
      <div key="body" class="pane-body">
        <div key="screen" class="screen" ref={place} />
      </div>
    </section>
  );
}

function grepOf(form: HTMLFormElement): Grep {
  return {
    stream: textOf(form, "stream") as Grep["stream"],
    pattern: textOf(form, "pattern"),
    exclude: textOf(form, "exclude") !== "",
  };
}
