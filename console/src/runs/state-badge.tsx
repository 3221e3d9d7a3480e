import {
  CircleCheck,
  CircleDashed,
  CircleQuestionMark,
  CircleStop,
  CircleX,
  Hourglass,
  LoaderCircle,
  Unplug,
} from "lucide";
import { Icon, type Picture } from "../design/icon.js";
import { wordOf, type RunState, type StateKind } from "./state.js";
import "./state-badge.css";

const PICTURES: Readonly<Record<StateKind, Picture>> = {
  waiting: CircleDashed,
  running: LoaderCircle,
  stopping: Hourglass,
  succeeded: CircleCheck,
  failed: CircleX,
  stopped: CircleStop,
  lost: CircleQuestionMark,
  unknown: Unplug,
};

/** The shape of a state alone; its word is beside it. */
export function StateIcon({ state: { kind } }: { state: RunState }) {
  return (
    <span class={`state ${kind}`}>
      <Icon of={PICTURES[kind]} size={14} />
    </span>
  );
}

/** What became of a run: a shape, a word and a colour, each of which says it. */
export function StateBadge({ state, more = "" }: { state: RunState; more?: string }) {
  return (
    <span class={`state ${state.kind}`}>
      <Icon of={PICTURES[state.kind]} size={14} />
      <span>
        {wordOf(state)}
        {more !== "" && ` ${more}`}
      </span>
    </span>
  );
}
