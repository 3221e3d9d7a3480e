// @ts-check
/** Commands behind walls against those without, and what the box takes. */

import { measured } from "../child.mjs";

const POLICIES = ["open", "workspace"];
const TITLES = {
  warm: '200 × exec("true"), one after the other, by policy',
  burst: '1,000 × exec("true"), 100 at a time, by policy',
};

/** @type {import("../main.mjs").Row[]} */
export const boxRows = [
  ...Object.entries(TITLES).map(([what, title]) => ({
    ...{ name: `box-${what}`, title, reference: "open" },
    open: () => columns((policy) => measured("latency.mjs", [policy, what])),
  })),
  {
    name: "box-idle",
    title: "the memory of an idle agent with its box, by policy",
    reference: "open",
    open: () => columns((policy) => measured("box.mjs", [policy])),
  },
  {
    name: "box-repositories",
    title: "the start of an agent with 1,200 repositories in its workspace, by policy",
    reference: "open",
    open: () => columns((policy) => measured("repositories.mjs", [policy, "1200"])),
  },
];

/** @param {(policy: string) => Promise<import("../main.mjs").Sample>} measure */
async function columns(measure) {
  return { columns: Object.fromEntries(POLICIES.map((policy) => [policy, () => measure(policy)])) };
}
