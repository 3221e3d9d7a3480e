import type { Background } from "sandpipe";

export function BackgroundPage({}: { background: Background; shown: boolean }) {
  return <h1>Background</h1>;
}
