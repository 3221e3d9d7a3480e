import { connect } from "sandpipe";

globalThis.runCommand = async ({ url, token, command, args }) => {
  const sandbox = await connect({ url, token });
  const events = [];
  const result = await sandbox.execs.exec(command, args, {
    onOutput: (event) => events.push({ type: event.type, output: event.output }),
  });
  return { result, events };
};
