import type { Sessions } from "sandpipe";

export function SessionsPage({}: { sessions: Sessions }) {
  return <h1>Sessions</h1>;
}
