import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Terminal } from "@xterm/xterm";
import { withConstructedStyleSheets } from "./style-sheets.js";
import { currentTheme, minimumContrast, onThemeChange } from "./theme.js";
import { screenReaderMode } from "./reader-mode.js";

/** How many lines can be scrolled back to. */
const SCROLLBACK = 50_000;

/** How many characters may wait to be shown before whoever writes has to wait. */
const MAX_WAITING = 512 * 1024;

export interface ScreenOptions {
  /** What screen readers call it. */
  label: string;
  /** It has a keyboard, until {@link Screen.endKeyboard}; otherwise keys scroll. */
  keyboard: boolean;
  /** Line ends are the process's, not a terminal's. */
  plain: boolean;
  /** The keyboard's way out. */
  onLeave: () => void;
}

/** A terminal on the page: what is written to it is shown, and what is typed is reported. */
export class Screen {
  /** What it is drawn in; it may be moved to another place. */
  readonly #element = document.createElement("div");
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #search = new SearchAddon();
  readonly #ends: (() => void)[];
  #waiting = 0;
  /** How many texts are still to be shown whose queries are not to be answered. */
  #unanswered = 0;
  #wake: (() => void)[] = [];

  constructor(place: HTMLElement, { label, keyboard, plain, onLeave }: ScreenOptions) {
    this.#element.className = "terminal-host";
    place.append(this.#element);
    this.#terminal = new Terminal({
      convertEol: plain,
      fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
      fontSize: 13,
      // Output that is binary has thousands of sequences that are none, and may have.
      logLevel: "off",
      minimumContrastRatio: minimumContrast(),
      screenReaderMode: screenReaderMode(),
      scrollback: SCROLLBACK,
      theme: currentTheme(),
    });
    const terminal = this.#terminal;
    terminal.loadAddon(this.#fit);
    terminal.loadAddon(this.#search);
    withConstructedStyleSheets(() => {
      terminal.open(this.#element);
    });
    terminal.textarea?.setAttribute("aria-label", label);
    if (!keyboard) this.endKeyboard();
    terminal.attachCustomKeyEventHandler((event) =>
      this.#hasKeyboard ? !this.#leaves(event, onLeave) : !this.#scrolls(event),
    );
    const observer = new ResizeObserver(() => {
      this.#fit.fit();
    });
    observer.observe(this.#element);
    this.#ends = [
      onThemeChange(() => {
        terminal.options.theme = currentTheme();
        terminal.options.minimumContrastRatio = minimumContrast();
      }),
      () => {
        observer.disconnect();
      },
      () => {
        terminal.dispose();
        this.#element.remove();
      },
    ];
  }

  /** Moves it to another place; without one it is kept, out of sight. */
  moveTo(place: HTMLElement | undefined): void {
    if (place === undefined) this.#element.remove();
    else place.append(this.#element);
  }

  /** Calls back when the view was scrolled, by the reader or by what is written. */
  onScroll(scrolled: () => void): void {
    // What the reader scrolls is told in the next frame by the one, what is written by the other.
    this.#terminal.onScroll(scrolled);
    this.#terminal.onRender(scrolled);
  }

  /** How many lines are above what is in sight. */
  get linesAbove(): number {
    return this.#terminal.buffer.active.viewportY;
  }

  /** Whether the last line is in sight. */
  get isAtEnd(): boolean {
    const { viewportY, baseY } = this.#terminal.buffer.active;
    return viewportY >= baseY;
  }

  scrollToEnd(): void {
    this.#terminal.scrollToBottom();
  }

  /**
   * Shows other text than it did: more of it above, and what it showed before. The same lines stay in sight.
   * Resolves when all is shown.
   */
  replace(above: readonly string[], shownBefore: readonly string[]): Promise<void> {
    const terminal = this.#terminal;
    const { viewportY } = terminal.buffer.active;
    const wasAtEnd = this.isAtEnd;
    this.clear();
    for (const text of above) terminal.write(text);
    let rows = 0;
    terminal.write("", () => {
      rows = terminal.buffer.active.baseY + terminal.buffer.active.cursorY;
    });
    for (const text of shownBefore) terminal.write(text);
    return new Promise((resolve) => {
      terminal.write("", () => {
        if (wasAtEnd) terminal.scrollToBottom();
        else terminal.scrollToLine(rows + viewportY);
        resolve();
      });
    });
  }

  /**
   * Shows a text. Resolves when there is room for more.
   *
   * @param isOld A terminal has shown it before: what it asks of one is not answered again.
   */
  write(text: string, isOld = false): Promise<void> {
    if (text === "") return Promise.resolve();
    this.#waiting += text.length;
    if (isOld) this.#unanswered++;
    this.#terminal.write(text, () => {
      if (isOld) this.#unanswered--;
      this.#waiting -= text.length;
      if (this.#waiting <= MAX_WAITING / 2) this.#wakeAll();
    });
    if (this.#waiting <= MAX_WAITING) return Promise.resolve();
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  /** Keys scroll from now on. */
  endKeyboard(): void {
    this.#terminal.options.disableStdin = true;
    this.#terminal.options.cursorInactiveStyle = "none";
    this.#terminal.write(HIDE_CURSOR);
  }

  /** Empties it, with what can be scrolled back to. */
  clear(): void {
    // In order with what has been written and is not shown yet.
    this.#terminal.write(`\x1bc${this.#hasKeyboard ? "" : HIDE_CURSOR}`);
  }

  onInput(typed: (text: string) => void): void {
    this.#terminal.onData((text) => {
      // xterm reports its own answers in the same way.
      if (this.#unanswered === 0) typed(text);
    });
  }

  /** Reports the size in characters, now and whenever it changes. */
  onResize(resized: (cols: number, rows: number) => void): void {
    resized(this.#terminal.cols, this.#terminal.rows);
    this.#terminal.onResize(({ cols, rows }) => {
      resized(cols, rows);
    });
  }

  /** Looks for a text; returns whether there is one. */
  find(text: string, direction: "next" | "previous"): boolean {
    const options = { incremental: false, caseSensitive: false };
    if (direction === "next") return this.#search.findNext(text, options);
    return this.#search.findPrevious(text, options);
  }

  endSearch(): void {
    this.#search.clearDecorations();
    this.#terminal.clearSelection();
  }

  /** What is selected; empty where nothing is. */
  selection(): string {
    return this.#terminal.getSelection();
  }

  /** All that can be scrolled to. */
  text(): string {
    this.#terminal.selectAll();
    const text = this.#terminal.getSelection();
    this.#terminal.clearSelection();
    return text.replace(/\n+$/, "\n");
  }

  focus(): void {
    this.#terminal.focus();
  }

  close(): void {
    for (const end of this.#ends) end();
    this.#wakeAll();
  }

  get #hasKeyboard(): boolean {
    return this.#terminal.options.disableStdin !== true;
  }

  #wakeAll(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }

  #leaves(event: KeyboardEvent, onLeave: () => void): boolean {
    if (!(event.ctrlKey && event.shiftKey && event.key === "ArrowUp")) return false;
    event.preventDefault();
    if (event.type === "keydown") onLeave();
    return true;
  }

  /** Keys of a screen without a keyboard scroll it; the others are the browser's, Tab among them. */
  #scrolls(event: KeyboardEvent): true {
    const scroll = SCROLLS[event.key];
    if (scroll !== undefined && event.type === "keydown") {
      event.preventDefault();
      scroll(this.#terminal);
    }
    return true;
  }
}

const HIDE_CURSOR = "\x1b[?25l";

const SCROLLS: Partial<Record<string, (terminal: Terminal) => void>> = {
  ArrowUp: (terminal) => {
    terminal.scrollLines(-1);
  },
  ArrowDown: (terminal) => {
    terminal.scrollLines(1);
  },
  PageUp: (terminal) => {
    terminal.scrollPages(-1);
  },
  PageDown: (terminal) => {
    terminal.scrollPages(1);
  },
  Home: (terminal) => {
    terminal.scrollToTop();
  },
  End: (terminal) => {
    terminal.scrollToBottom();
  },
};
