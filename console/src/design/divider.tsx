import { useRef } from "preact/hooks";
import "./divider.css";

/** The line between two parts beside each other: it is dragged, or moved by ← and →. */
export function Divider({
  label,
  value,
  min,
  max,
  onChange,
}: {
  label: string;
  /** The part to its left, in percent of both. */
  value: number;
  min: number;
  max: number;
  onChange: (value: number) => void;
}) {
  const line = useRef<HTMLDivElement>(null);
  const change = (wanted: number) => {
    onChange(Math.round(Math.max(min, Math.min(max, wanted)) * 10) / 10);
  };
  const drag = (event: PointerEvent) => {
    const both = line.current?.parentElement?.getBoundingClientRect();
    if (both !== undefined) change(((event.clientX - both.left) / both.width) * 100);
  };
  return (
    <div
      ref={line}
      class="divider"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={Math.round(value)}
      aria-valuemin={min}
      aria-valuemax={max}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) drag(event);
      }}
      onKeyDown={(event) => {
        const step = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        change(value + step);
      }}
    />
  );
}
