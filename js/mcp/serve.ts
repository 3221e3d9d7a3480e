import {
  type CallToolResult,
  fromJsonSchema,
  type jsonSchemaValidator,
  McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";

import type { Tool, ToolProgress } from "../tools/tool.js";

/** What is served, and how. */
export interface ServeOptions {
  tools: readonly Tool[];
  /** What a model is to know of all of them, if there is something. */
  instructions: string | undefined;
  /** The version that the server reports. */
  version: string;
  /** Aborted, the connection is closed. */
  signal: AbortSignal;
  /** Called with what goes wrong with the connection; stdout is the protocol's. */
  onError: (error: Error) => void;
}

/** Tools check their input themselves, and say in words for a model what is wrong. */
const CHECKED_BY_THE_TOOL: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

/**
 * Serves tools over stdin and stdout, as the Model Context Protocol has it. Resolves when the connection is
 * closed, by either side, and nothing is under way any more: what ran in the foreground has been stopped.
 */
export async function serve({
  tools,
  instructions,
  version,
  signal,
  onError,
}: ServeOptions): Promise<void> {
  const calls = new Set<Promise<CallToolResult>>();
  const makeServer = (): McpServer => {
    const server = new McpServer(
      { name: "sandpipe", version },
      instructions === undefined ? {} : { instructions },
    );
    for (const tool of tools) {
      const { name, description, annotations } = tool;
      const inputSchema = fromJsonSchema(tool.inputSchema, CHECKED_BY_THE_TOOL);
      const config = { title: annotations.title, description, inputSchema, annotations };
      server.registerTool(name, config, async (input, context) => {
        const call = callTool(tool, input, context);
        calls.add(call);
        return await call.finally(() => calls.delete(call));
      });
    }
    return server;
  };

  const transport = new StdioServerTransport();
  const connection = serveStdio(makeServer, { transport, onerror: onError });
  const closed = new Promise<void>((resolve) => {
    // The SDK's own is there already. It aborts the calls that are under way.
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
  const close = (): void => void connection.close();
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  await closed;
  await Promise.all(calls);
}

/** What a tool fails with is for the model, as its result. */
async function callTool(
  tool: Tool,
  input: unknown,
  { mcpReq }: ServerContext,
): Promise<CallToolResult> {
  const token = mcpReq._meta?.progressToken;
  const onProgress = token === undefined ? undefined : progressSender(token, mcpReq.notify);
  try {
    const text = await tool.execute(input, { signal: mcpReq.signal, onProgress });
    return { content: [{ type: "text", text }] };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { content: [{ type: "text", text }], isError: true };
  }
}

/** Sends what is new, unless the client has not taken the one before yet. */
function progressSender(
  progressToken: string | number,
  notify: ServerContext["mcpReq"]["notify"],
): (progress: ToolProgress) => void {
  let isSending = false;
  return ({ outputBytes, newest }) => {
    if (isSending) return;
    isSending = true;
    const params = { progressToken, progress: outputBytes, message: newest };
    // A client that is gone misses nothing.
    void notify({ method: "notifications/progress", params })
      .catch(() => undefined)
      .finally(() => (isSending = false));
  };
}
