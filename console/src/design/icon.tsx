import type { Play } from "lucide";
import { h } from "preact";

/** A picture of the icon set: lines on a grid of 24. */
export type Picture = typeof Play;

/** An icon, beside a text or in a button that has a name: screen readers pass over it. */
export function Icon({ of, size = 16 }: { of: Picture; size?: number }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {of.map(([tag, attributes], index) => h(tag, { ...attributes, key: index }))}
    </svg>
  );
}
