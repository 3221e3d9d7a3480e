/**
 * The environment of what runs for others: this process's own, without Sandpipe's settings and secrets
 * (`SANDPIPE_*`), as the agent has it for its commands.
 */
export function environmentOfCommands(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env);
  return Object.fromEntries(own.filter(([name]) => !name.startsWith("SANDPIPE_")));
}
