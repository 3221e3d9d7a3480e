import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Terminal } from "@xterm/xterm";
import { withConstructedStyleSheets } from "./style-sheets.js";
import { currentTheme, onThemeChange } from "./theme.js";

/** How many lines can be scrolled back to. */
const SCROLLBACK = 10_000;

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
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #search = new SearchAddon();
  readonly #ends: (() => void)[];
  #waiting = 0;
  /** How many texts are still to be shown whose queries are not to be answered. */
  #unanswered = 0;
  #wake: (() => void)[] = [];

  constructor(place: HTMLElement, { label, keyboard, plain, onLeave }: ScreenOptions) {
    this.#terminal = new Terminal({
      convertEol: plain,
      fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
      fontSize: 13,
      // Output that is binary has thousands of sequences that are none, and may have.
      logLevel: "off",
      screenReaderMode: screenReaderMode(),
      scrollback: SCROLLBACK,
      theme: currentTheme(),
    });
    const terminal = this.#terminal;
    terminal.loadAddon(this.#fit);
    terminal.loadAddon(this.#search);
    withConstructedStyleSheets(() => {
      terminal.open(place);
    });
    terminal.textarea?.setAttribute("aria-label", label);
    if (!keyboard) this.endKeyboard();
    terminal.attachCustomKeyEventHandler((event) =>
      this.#hasKeyboard ? !this.#leaves(event, onLeave) : !this.#scrolls(event),
    );
    const observer = new ResizeObserver(() => {
      this.#fit.fit();
    });
    observer.observe(place);
    this.#ends = [
      onThemeChange((theme) => (terminal.options.theme = theme)),
      () => {
        observer.disconnect();
      },
      () => {
        terminal.dispose();
      },
    ];
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

  /** What is selected, or else all that can be scrolled to. */
  text(): string {
    if (this.#terminal.hasSelection()) return this.#terminal.getSelection();
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

const READER = "sandpipe.screen-reader";

/** Whether what is shown is also there for screen readers, which costs time. Kept in the browser. */
export function screenReaderMode(): boolean {
  return localStorage.getItem(READER) === "on";
}

export function setScreenReaderMode(on: boolean): void {
  if (on) localStorage.setItem(READER, "on");
  else localStorage.removeItem(READER);
}
