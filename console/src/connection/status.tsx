import { describe, type Connection } from "./state.js";

/** Says in the page's head how the connection is. */
export function ConnectionStatus({ connection }: { connection: Connection }) {
  return (
    <p class={`connection ${connection.state}`} role="status">
      {describe(connection)}
    </p>
  );
}
