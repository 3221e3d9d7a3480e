export { startAgent, type EmbeddedAgent, type StartAgentOptions } from "./start-agent.js";
