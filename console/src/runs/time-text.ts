const UNITS: [unit: string, seconds: number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
];

/** How long ago a time was, in its largest unit: `now`, `42 s ago`, `3 h ago`. Times are milliseconds. */
export function ageText(at: number, now: number): string {
  const age = Math.max(0, Math.floor((now - at) / 1000));
  if (age === 0) return "now";
  const [unit, seconds] = UNITS.find(([, seconds]) => age >= seconds) ?? ["s", 1];
  return `${Math.floor(age / seconds)} ${unit} ago`;
}

/** How long something has gone on, in milliseconds, in whole seconds and larger units: `12 s`, `3 min 4 s`. */
export function elapsedText(duration: number): string {
  const seconds = Math.max(0, Math.floor(duration / 1000));
  return seconds < 10 ? `${seconds} s` : durationText(seconds * 1000);
}

/** How long something took, in milliseconds, in at most two units: `0.4 s`, `12 s`, `3 min 4 s`. */
export function durationText(duration: number): string {
  const ms = Math.max(0, duration);
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const whole = Math.round(ms / 1000);
  const index = UNITS.findIndex(([, seconds]) => whole >= seconds);
  const [unit, seconds] = UNITS[index] ?? ["s", 1];
  const smaller = UNITS[index + 1];
  const rest = smaller === undefined ? 0 : Math.floor((whole % seconds) / smaller[1]);
  const first = `${Math.floor(whole / seconds)} ${unit}`;
  return smaller === undefined || rest === 0 ? first : `${first} ${rest} ${smaller[0]}`;
}
