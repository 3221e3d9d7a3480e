import { Check, Copy } from "lucide";
import { useState } from "preact/hooks";
import { Icon } from "./icon.js";

/** A command to be pasted elsewhere, and the button that copies it. */
export function CopyLine({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      // Browsers give a page the clipboard over https, and on this machine. The text can be selected.
    }
  };
  return (
    <span class="copy-line">
      <code>{text}</code>
      <button
        class="quiet square"
        aria-label={isCopied ? "Copied" : "Copy the command"}
        title="Copy"
        onClick={() => void copy()}
      >
        <Icon of={isCopied ? Check : Copy} />
      </button>
    </span>
  );
}
