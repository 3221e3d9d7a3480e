// @ts-check
/**
 * What the agent is published for: the platform as Node.js names it, which is also how `js/node/agent-program.ts`
 * does, and rustc's target. With musl a binary is static, and runs on every Linux.
 */
export const AGENT_TARGETS = /** @type {const} */ ([
  { os: "linux", cpu: "arm64", rust: "aarch64-unknown-linux-musl" },
  { os: "linux", cpu: "x64", rust: "x86_64-unknown-linux-musl" },
]);

/** @typedef {(typeof AGENT_TARGETS)[number]} AgentTarget */
