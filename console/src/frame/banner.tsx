import { Unplug } from "lucide";
import { useNow } from "../clock.js";
import { attemptText, type Connection } from "../connection/state.js";
import { Icon } from "../design/icon.js";
import { ageText } from "../runs/time-text.js";
import "./banner.css";

/** Says above everything else that the agent is not heard of, and when it is tried again. */
export function LossBanner({
  connection,
  onTryNow,
  onSignOut,
}: {
  connection: Connection;
  onTryNow: () => void;
  onSignOut: () => void;
}) {
  const now = useNow();
  if (connection.state === "unreachable") {
    return (
      <section class="banner" aria-label="Connection">
        <Icon of={Unplug} />
        <p>
          <strong role="alert">The agent can’t be reached.</strong> {connection.reason}{" "}
          {attemptText(connection.next, now)}
        </p>
        <button class="small" onClick={onTryNow}>
          Try now
        </button>
      </section>
    );
  }
  if (connection.state === "lost") {
    const age = ageText(connection.since, now);
    return (
      <section class="banner" aria-label="Connection">
        <Icon of={Unplug} />
        <p>
          <strong role="alert">Connection lost.</strong>{" "}
          <span class="wide-only">
            What is shown is as it was then, {age === "now" ? "just now" : age}; what ran may have
            ended.{" "}
          </span>
          {attemptText(connection.next, now)}
        </p>
        <button class="small" onClick={onTryNow}>
          Try now
        </button>
      </section>
    );
  }
  if (connection.state === "refused") {
    return (
      <section class="banner" aria-label="Connection">
        <Icon of={Unplug} />
        <p>
          <strong role="alert">Signed out by the agent.</strong> {connection.reason}
        </p>
        <button class="small" onClick={onSignOut}>
          Sign in again
        </button>
      </section>
    );
  }
  return null;
}
