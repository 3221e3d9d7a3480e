import { useEffect, useRef, useState } from "preact/hooks";
import type { Background, BackgroundProcess } from "sandpipe";
import { textOf } from "../form.js";
import { Failure } from "../message.js";
import { Screen } from "../terminal/screen.js";
import { tail, type Grep } from "./tail.js";

const EVERYTHING: Grep = { stream: "both", pattern: "", exclude: false };

/** The end of a process's output, as it grows: all of it, or the lines that are asked for. */
export function TailPanel({
  background,
  process,
  onClose,
}: {
  background: Background;
  process: BackgroundProcess;
  onClose: () => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const [grep, setGrep] = useState(EVERYTHING);
  const [error, setError] = useState<unknown>();
  const name = process.name ?? process.script;

  useEffect(() => {
    if (place.current === null) return;
    const leaving = new AbortController();
    const screen = new Screen(place.current, {
      label: `Output of ${name}`,
      keyboard: false,
      plain: true,
      onLeave: () => undefined,
    });
    place.current.closest("section")?.scrollIntoView({ block: "nearest" });
    setError(undefined);
    const take = (output: string) => {
      setError(undefined);
      return screen.write(output);
    };
    tail(background, process.id, grep, leaving.signal, take, setError).catch((error: unknown) => {
      if (!leaving.signal.aborted) setError(error);
    });
    return () => {
      leaving.abort();
      screen.close();
    };
  }, [process.id, grep]);

  return (
    <section class="panel card" aria-label={`Output of ${name}`}>
      <div class="heading">
        <h2 title={process.script}>{name}</h2>
        <button aria-label={`Close the output of ${name}`} onClick={onClose}>
          Close
        </button>
      </div>
      <form
        class="toolbar"
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
      <div class="screen" ref={place} />
      <p class="hint code">{process.outputDir}</p>
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
