import {
  isSandpipeError,
  type ExecItem,
  type Execs,
  type ExecStdout,
  type OutputLostError,
  type Terminal,
} from "sandpipe";
import { hasEnded } from "../runs/status.js";
import { Store } from "../store.js";
import { loadScreen, ScreenNotLoaded } from "../terminal/load-screen.js";
import type { Screen } from "../terminal/screen.js";
import { collect, copiedText, sizeText } from "./copy.js";
import { attached, follow, piecesBefore, TAIL, type From } from "./follow.js";
import { batchSize, Loaded } from "./loaded.js";
import { isShown, StreamMarker, type Streams } from "./streams.js";

/** How much of an output is held: it is drawn anew from that. */
const LIMITS = { characters: 1024 * 1024, lines: 12_000 };

/** Up to so many pieces behind, an output that comes into sight goes on where it was. */
const MAX_BEHIND = 1_000;

/** So many lines are to be above those in sight, for as long as there are some. */
const MIN_LINES_ABOVE = 100;

/** What a pane says of its output. */
export interface OutputStatus {
  /** Nothing has been read yet. */
  isOpening: boolean;
  /** The exit code, when the output has been read to its end. */
  exitCode?: number;
  error?: unknown;
  /** What comes before the part that is loaded: nothing, more, or what the agent has dropped. */
  before: "nothing" | "more" | "loading" | "dropped";
  /** Why the agent has dropped it, such as a full disk; undefined where it was too much. */
  dropReason?: string;
  /** Whether the last line is in sight. */
  isAtEnd: boolean;
}

/** What a place for an output is called, and where the keyboard goes from there. */
export interface Place {
  element: HTMLElement;
  label: string;
  onLeave: () => void;
  /** Whether a terminal may take the keyboard. */
  mayFocus: () => boolean;
}

/**
 * An open output. It is read while it is in sight; when it comes into sight again it goes on where it was. Only a terminal that
 * takes a keyboard is kept as it is meanwhile: what it shows can't be made anew.
 */
export class Output {
  readonly status = new Store<OutputStatus>({ isOpening: true, before: "nothing", isAtEnd: true });
  readonly #execs: Execs;
  readonly #id: string;
  #item: ExecItem;
  readonly #loaded = new Loaded(LIMITS);
  /** Where it is in sight. */
  #place: Place | undefined;
  #screen: Screen | undefined;
  #terminal: Terminal | undefined;
  #marker = new StreamMarker();
  #streams: Streams = "all";
  #reading: AbortController | undefined;
  /** Aborted when it goes out of sight. */
  #inSight = new AbortController();
  /** Nothing more has room beside the end. */
  #isFilled = false;
  /** Up to which piece the agent has dropped the output. */
  #droppedUpTo = 0;

  constructor(execs: Execs, item: ExecItem) {
    this.#execs = execs;
    this.#item = item;
    this.#id = item.id;
  }

  /** What became of the run. */
  set item(item: ExecItem) {
    this.#item = item;
  }

  get streams(): Streams {
    return this.#streams;
  }

  get screen(): Screen | undefined {
    return this.#screen;
  }

  /** The number of the newest piece that was read. */
  get last(): number {
    return this.#loaded.last;
  }

  /** It comes into sight. */
  show(place: Place): void {
    if (this.#screen !== undefined) {
      this.#screen.moveTo(place.element);
      return;
    }
    this.#inSight = new AbortController();
    this.#place = place;
    void this.#open(place);
  }

  /** Opens a screen in its place, and reads, unless it goes out of sight before. */
  async #open(place: Place): Promise<void> {
    const { signal } = this.#inSight;
    let ScreenClass: typeof Screen;
    try {
      ScreenClass = await loadScreen();
    } catch (error) {
      if (!signal.aborted) this.#change({ isOpening: false, error });
      return;
    }
    // It may have been opened again meanwhile.
    if (signal.aborted || this.#screen !== undefined) return;
    const { pty } = this.#item;
    const hasKeyboard = pty && !hasEnded(this.#item);
    const screen = new ScreenClass(place.element, {
      label: place.label,
      keyboard: hasKeyboard,
      plain: !pty,
      onLeave: place.onLeave,
    });
    this.#screen = screen;
    if (this.status.value.error instanceof ScreenNotLoaded) this.#change({ error: undefined });
    screen.onScroll(() => {
      this.#scrolled();
    });
    this.#draw();
    if (hasKeyboard) void this.#read(() => this.#attach(place));
    else void this.#read(() => this.#resume());
  }

  /** It goes out of sight. */
  hide(): void {
    if (this.#terminal !== undefined && !hasEnded(this.#item)) {
      this.#screen?.moveTo(undefined);
      return;
    }
    this.close();
  }

  /** Nothing is read any more. What is loaded stays, to be shown again. */
  close(): void {
    this.#inSight.abort();
    this.#reading?.abort();
    this.#reading = undefined;
    this.#terminal = undefined;
    this.#place = undefined;
    this.#screen?.close();
    this.#screen = undefined;
  }

  /** Shows the end of it, as at first. */
  reopen(): void {
    this.#loaded.clear();
    this.#droppedUpTo = 0;
    this.#isFilled = false;
    this.#draw();
    this.#change({ isOpening: true, error: undefined, before: "nothing", dropReason: undefined });
    // Its screen may have been what failed.
    if (this.#screen === undefined && this.#place !== undefined) void this.#open(this.#place);
    else void this.#read(() => this.#resume());
  }

  /** Shows the end, of which another part may be loaded. */
  jumpToEnd(): void {
    if (this.#loaded.hasEnd) this.#screen?.scrollToEnd();
    else this.reopen();
  }

  choose(streams: Streams): void {
    this.#streams = streams;
    this.#draw();
  }

  /** Loads what comes before the part that is loaded. `keepEnd`: no more than there is room for beside the end. */
  async loadOlder(keepEnd = false): Promise<void> {
    const { first } = this.#loaded;
    const { signal } = this.#inSight;
    if (first === undefined || this.#screen === undefined) return;
    if (this.status.value.before !== "more") return;
    this.#change({ before: "loading" });
    try {
      const older = await this.#before(first, signal);
      // What made room or was opened anew meanwhile is loaded from there.
      if (this.#loaded.first === first && !signal.aborted) {
        const loaded = this.#loaded.prepend(older, keepEnd);
        this.#isFilled ||= keepEnd && loaded.length < older.length;
        // What comes does not follow what is loaded any more.
        if (!this.#loaded.hasEnd) this.#reading?.abort();
        const added = loaded.filter(({ type }) => isShown(type, this.#streams)).length;
        const texts = this.#texts();
        await this.#screen.replace(texts.slice(0, added), texts.slice(added));
      }
      this.#change({ before: this.#whatIsBefore() });
    } catch (error) {
      if (!signal.aborted) this.#change({ error, before: "dropped" });
    }
  }

  /** The text to be copied, and what to tell of it: the selection, what a terminal shows, or all of it. */
  async copied(signal: AbortSignal): Promise<{ text: string; told: string }> {
    const selection = this.#screen?.selection() ?? "";
    if (selection !== "") return { text: selection, told: "Copied the selection." };
    if (this.#item.pty) {
      const text = this.#screen?.text() ?? "";
      return { text, told: `Copied what the terminal holds: ${sizeText(text.length)}.` };
    }
    const collected = await collect(this.#execs, this.#id, await this.#end(), signal);
    return { text: collected.text, told: copiedText(collected) };
  }

  /** The pieces that are loaded, or the last one where they are not the end. */
  async #end(): Promise<readonly ExecStdout[]> {
    if (this.#loaded.hasEnd) return this.#loaded.pieces;
    const pieces = [];
    const { lastSequence } = await this.#execs.getOutput(this.#id, -1);
    for await (const piece of this.#execs.streamOutput(this.#id, -1)) {
      pieces.push(piece);
      if (piece.sequence >= lastSequence) break;
    }
    return pieces;
  }

  /** Reads until there is no more, it goes out of sight, or it fails. */
  async #read(pieces: () => AsyncIterable<ExecStdout>): Promise<void> {
    this.#reading?.abort();
    const reading = new AbortController();
    this.#reading = reading;
    try {
      for await (const piece of pieces()) {
        if (this.#reading !== reading) return;
        await this.#take(piece, true);
      }
    } catch (error) {
      if (this.#reading === reading && !reading.signal.aborted) this.#change({ error });
    } finally {
      if (this.#reading === reading) this.#change({ isOpening: false });
    }
  }

  async *#resume(): AsyncGenerator<ExecStdout, void> {
    const signal = this.#reading?.signal ?? AbortSignal.abort();
    const { last, hasEnd } = this.#loaded;
    if (last > 0 && (this.status.value.exitCode !== undefined || !hasEnd)) return;
    let from: From = { tail: TAIL };
    if (last > 0 || this.#item.pty) {
      const { lastSequence } = await this.#execs.getOutput(this.#id, -1);
      if (lastSequence - last <= MAX_BEHIND) from = { after: last };
      else {
        this.#loaded.clear();
        this.#draw();
      }
    }
    let pieces: AsyncIterable<ExecStdout> = follow(this.#execs, this.#item, from, signal);
    for (;;) {
      try {
        yield* pieces;
        return;
      } catch (error) {
        if (!isSandpipeError(error, "output_lost")) throw error;
        // What is loaded has no gap.
        this.#loaded.clear();
        this.#draw();
        this.#drop(error);
        this.#change({ before: "dropped" });
        pieces = this.#execs.streamOutput(this.#id, error.to, { signal });
      }
    }
  }

  /** Takes the terminal's place at the run, from its beginning. */
  async *#attach(place: Place): AsyncGenerator<ExecStdout, void> {
    const reading = this.#reading;
    const screen = this.#screen;
    if (reading === undefined || screen === undefined) return;
    // A terminal was there for what is older: what it asked of one has been answered.
    const newest = (await this.#execs.getOutput(this.#id, -1)).lastSequence;
    const terminal = await this.#execs.attach(this.#id);
    if (reading.signal.aborted) {
      terminal.close();
      return;
    }
    this.#terminal = terminal;
    const fail = (error: unknown) => {
      if (!reading.signal.aborted) this.#change({ error });
    };
    screen.onInput((text) => void terminal.write(text).catch(fail));
    screen.onResize((cols, rows) => {
      terminal.resize(cols, rows).catch((error: unknown) => {
        // It has just ended, or only watches.
        if (!isSandpipeError(error, "http")) fail(error);
      });
    });
    if (place.mayFocus()) screen.focus();
    for await (const piece of attached(terminal, reading.signal)) {
      if (piece.sequence <= newest) yield piece;
      else await this.#take(piece, false);
    }
  }

  /** Takes a piece, and shows it. Resolves when there is room for more. */
  async #take(piece: ExecStdout, isOld: boolean): Promise<void> {
    if (!this.#loaded.push(piece)) return;
    if (this.status.value.isOpening || this.status.value.before === "nothing") {
      this.#change({ isOpening: false, before: this.#whatIsBefore() });
    }
    if (isShown(piece.type, this.#streams)) {
      await this.#screen?.write(this.#marker.mark(this.#whole(piece)), isOld);
    }
    if (piece.exitCode === undefined) return;
    this.#change({ exitCode: piece.exitCode });
    this.#terminal = undefined;
    this.#screen?.endKeyboard();
    this.#scrolled();
  }

  /** Draws all that is loaded. */
  #draw(): void {
    this.#screen?.clear();
    for (const text of this.#texts()) void this.#screen?.write(text, true);
  }

  #texts(): string[] {
    this.#marker = new StreamMarker();
    return this.#loaded.pieces
      .filter(({ type }) => isShown(type, this.#streams))
      .map((piece) => this.#marker.mark(this.#whole(piece)));
  }

  /** A piece without the part of a line at its beginning, whose other part is not loaded. */
  #whole(piece: ExecStdout): ExecStdout {
    if (piece.sequence !== this.#loaded.first || piece.sequence <= 1) return piece;
    return { ...piece, output: piece.output.slice(piece.output.indexOf("\n") + 1) };
  }

  #scrolled(): void {
    const screen = this.#screen;
    if (screen === undefined) return;
    this.#change({ isAtEnd: screen.isAtEnd && this.#loaded.hasEnd });
    // A terminal's screens can't be put together of parts.
    if (this.#item.pty || screen.linesAbove >= MIN_LINES_ABOVE) return;
    if (!screen.isAtEnd) {
      if (screen.linesAbove === 0) void this.loadOlder();
    } else if (!this.#isFilled && this.#loaded.hasEnd && !this.#loaded.isFull)
      void this.loadOlder(true);
  }

  #whatIsBefore(): OutputStatus["before"] {
    const first = this.#loaded.first ?? 1;
    if (first <= 1) return "nothing";
    return first - 1 <= this.#droppedUpTo ? "dropped" : "more";
  }

  /** The pieces before one, as far as the agent has them. */
  async #before(first: number, signal: AbortSignal): Promise<readonly ExecStdout[]> {
    const count = batchSize(this.#loaded);
    try {
      return await piecesBefore(this.#execs, this.#id, first, count, signal);
    } catch (error) {
      if (!isSandpipeError(error, "output_lost")) throw error;
      this.#drop(error);
      const left = first - 1 - error.to;
      if (left <= 0) return [];
      return piecesBefore(this.#execs, this.#id, first, Math.min(count, left), signal);
    }
  }

  #drop({ to, reason }: OutputLostError): void {
    this.#droppedUpTo = to;
    this.#change({ dropReason: reason });
  }

  #change(change: Partial<Record<keyof OutputStatus, unknown>>): void {
    const next = { ...this.status.value, ...change } as OutputStatus;
    const isSame = Object.entries(change).every(
      ([key, value]) => this.status.value[key as keyof OutputStatus] === value,
    );
    if (!isSame) this.status.set(next);
  }
}
