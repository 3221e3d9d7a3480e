import { Empty } from "../design/empty.js";
import type { Page } from "../route.js";
import { PICTURES, PURPOSES } from "./descriptions.js";

/** What a page is for, while nothing of the agent is known yet. */
export function Waiting({ page }: { page: Page }) {
  return (
    <Empty icon={PICTURES[page]} title="Waiting for the agent…">
      {PURPOSES[page]} This page opens as soon as the agent answers.
    </Empty>
  );
}
