import { Unplug } from "lucide";
import type { ComponentChildren } from "preact";
import { useNow } from "../clock.js";
import { attemptText, type Connection } from "../connection/state.js";
import { Icon } from "../design/icon.js";
import { ageText } from "../runs/time-text.js";
import "./banner.css";

/** Says above everything else that the agent does not answer or lets nobody in, and what can be done. */
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
  switch (connection.state) {
    case "unreachable":
      return (
        <Banner title="The agent can’t be reached." action="Try now" onAction={onTryNow}>
          {connection.reason} {attemptText(connection.next, now)}
        </Banner>
      );
    case "lost": {
      const age = ageText(connection.since, now);
      return (
        <Banner title="Connection lost." action="Try now" onAction={onTryNow}>
          <span class="wide-only">
            What is shown is as it was then, {age === "now" ? "just now" : age}; what ran may have
            ended.{" "}
          </span>
          {attemptText(connection.next, now)}
        </Banner>
      );
    }
    case "refused":
      return (
        <Banner title="Signed out by the agent." action="Sign in again" onAction={onSignOut}>
          {connection.reason}
        </Banner>
      );
    default:
      return null;
  }
}

function Banner({
  title,
  action,
  onAction,
  children,
}: {
  title: string;
  /** What the button says. */
  action: string;
  onAction: () => void;
  children: ComponentChildren;
}) {
  return (
    <section class="banner" aria-label="Connection">
      <Icon of={Unplug} />
      <p>
        <strong role="alert">{title}</strong> {children}
      </p>
      <button class="small" onClick={onAction}>
        {action}
      </button>
    </section>
  );
}
