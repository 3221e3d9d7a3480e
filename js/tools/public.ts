export type { InputProperty, InputSchema, Properties } from "./input.js";
export type { Tool, ToolAnnotations, ToolCallOptions, ToolProgress } from "./tool.js";
export type { MakeTools, Tools, ToolsOptions } from "./tools.js";
