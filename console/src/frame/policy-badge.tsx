import { Shield, ShieldOff } from "lucide";
import { Icon } from "../design/icon.js";

/** Says in the page's head what commands may touch. */
export function PolicyBadge({ policy }: { policy: string | undefined }) {
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
