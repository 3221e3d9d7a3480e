import { Shield, ShieldOff } from "lucide";
import { useEffect, useState } from "preact/hooks";
import type { Sandbox } from "sandpipe";
import type { Connection } from "../connection/state.js";
import { Icon } from "../design/icon.js";

/** Says in the page's head what commands may touch. It is asked for whenever the agent is there again: another may be. */
export function PolicyBadge({ sandbox, connection }: { sandbox: Sandbox; connection: Connection }) {
  const [policy, setPolicy] = useState<string>();
  const isLive = connection.state === "live";

  useEffect(() => {
    setPolicy(undefined);
    if (!isLive) return;
    let isCurrent = true;
    // What is not known is not shown.
    const asked = sandbox.policy().catch(() => undefined);
    void asked.then((answer) => {
      if (isCurrent) setPolicy(answer);
    });
    return () => {
      isCurrent = false;
    };
  }, [sandbox, isLive]);

  if (policy === undefined) return null;
  const isOpen = policy === "open";
  return (
    <span
      class={isOpen ? "badge warn" : "badge"}
      title={isOpen ? "Commands have the agent’s rights" : "What commands may touch"}
    >
      <Icon of={isOpen ? ShieldOff : Shield} size={14} />
      <span>Policy: {policy}</span>
    </span>
  );
}
