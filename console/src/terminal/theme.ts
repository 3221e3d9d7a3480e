import type { ITheme } from "@xterm/xterm";

/** Each colour of text has a contrast of at least 4.5 : 1 with the background (WCAG 2.2, 1.4.3). */
const LIGHT: ITheme = {
  background: "#ffffff",
  foreground: "#1c2326",
  cursor: "#1c2326",
  cursorAccent: "#ffffff",
  selectionBackground: "#a9d6d6",
  scrollbarSliderBackground: "#14191b26",
  scrollbarSliderHoverBackground: "#14191b4d",
  scrollbarSliderActiveBackground: "#14191b66",
  black: "#1c2326",
  red: "#b3261e",
  green: "#1b6e37",
  yellow: "#7a5700",
  blue: "#1a56b0",
  magenta: "#8a2f87",
  cyan: "#0b6868",
  white: "#566064",
  brightBlack: "#5f696d",
  brightRed: "#c22f26",
  brightGreen: "#237a40",
  brightYellow: "#856000",
  brightBlue: "#2463c4",
  brightMagenta: "#9a3a97",
  brightCyan: "#127272",
  brightWhite: "#3c464a",
};

const DARK: ITheme = {
  background: "#0d1214",
  foreground: "#dbe3e5",
  cursor: "#dbe3e5",
  cursorAccent: "#0d1214",
  selectionBackground: "#24565a",
  scrollbarSliderBackground: "#e6ecee26",
  scrollbarSliderHoverBackground: "#e6ecee4d",
  scrollbarSliderActiveBackground: "#e6ecee66",
  black: "#8a9599",
  red: "#ff8d84",
  green: "#7dd391",
  yellow: "#e6c15c",
  blue: "#8ab6ff",
  magenta: "#e59be2",
  cyan: "#6fd3d3",
  white: "#dbe3e5",
  brightBlack: "#9aa5a9",
  brightRed: "#ffa59e",
  brightGreen: "#9be3ab",
  brightYellow: "#f2d684",
  brightBlue: "#a8c9ff",
  brightMagenta: "#f0b6ee",
  brightCyan: "#93e3e3",
  brightWhite: "#ffffff",
};

const dark = matchMedia("(prefers-color-scheme: dark)");
const moreContrast = matchMedia("(prefers-contrast: more)");

/** The colours of the system's theme; with more contrast, on pure white or black. */
export function currentTheme(): ITheme {
  const theme = dark.matches ? DARK : LIGHT;
  if (!moreContrast.matches) return theme;
  const [background, foreground] = dark.matches ? ["#000000", "#ffffff"] : ["#ffffff", "#000000"];
  return { ...theme, background, foreground, cursor: foreground, cursorAccent: background };
}

/** The least contrast of text with its background, also where a command chooses both (WCAG 2.2, 1.4.3 and 1.4.6). */
export function minimumContrast(): number {
  return moreContrast.matches ? 7 : 4.5;
}

/** Calls back when the system's theme changes; what it returns ends that. */
export function onThemeChange(changed: () => void): () => void {
  const queries = [dark, moreContrast];
  for (const query of queries) query.addEventListener("change", changed);
  return () => {
    for (const query of queries) query.removeEventListener("change", changed);
  };
}
