/** How long ago something was, in its largest unit: `5s`, `3m`, `2h`, `4d`. */
export function age(since: Date, now: Date): string {
  // Another machine's clock may be ahead.
  const seconds = Math.max(0, Math.floor((now.getTime() - since.getTime()) / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
