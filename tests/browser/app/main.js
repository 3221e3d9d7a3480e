import { background, connect } from "sandpipe";
import { tools } from "sandpipe/tools";

/** Types into an interactive shell; gives its output and exit code. */
globalThis.useShell = async ({ url, token, size, typed }) => {
  const { execs } = await connect({ url, token });
  const { id } = await execs.create({ command: "sh", args: ["-i"], pty: true });
  using terminal = await execs.attach(id);
  let output = "";
  for await (const event of terminal) {
    // The shell asks for input.
    if (output === "") {
      await terminal.resize(...size);
      await terminal.write(typed);
    }
    output += event.output;
  }
  return { output, exitCode: await terminal.exited };
};

/** Has many commands under way at once, each of which waits for a line; gives their exit codes. */
globalThis.watchMany = async ({ url, token, count }) => {
  const { execs } = await connect({ url, token });
  const terminals = [];
  for (let number = 0; number < count; number++) {
    const script = `echo up; read line; exit $line`;
    const { id } = await execs.create({ command: "sh", args: ["-c", script] });
    const terminal = await execs.attach(id);
    await terminal.output.next();
    terminals.push(terminal);
  }
  const ended = terminals.map(async (terminal, number) => {
    await terminal.write(`${number}\n`);
    for await (const { exitCode } of terminal) if (exitCode !== undefined) return exitCode;
  });
  return Promise.all(ended);
};

globalThis.runCommand = async ({ url, token, command, args }) => {
  const sandbox = await connect({ url, token });
  const events = [];
  const result = await sandbox.execs.exec(command, args, {
    onOutput: (event) => events.push({ type: event.type, output: event.output }),
  });
  return { result, events };
};

/** Runs many commands, one after another, and reads the output of as many in other ways; gives their exit codes. */
globalThis.runMany = async ({ url, token, count }) => {
  using sandbox = await connect({ url, token });
  const { execs } = sandbox;
  const exitCodes = { exec: [], streamOutput: [], getOutput: [] };
  for (let number = 0; number < count; number++) {
    const args = ["-c", `echo out; seq 20000; exit ${number}`];
    exitCodes.exec.push((await execs.exec("sh", args)).exitCode);
    const { id } = await execs.create({ command: "sh", args });
    for await (const { exitCode } of execs.streamOutput(id)) {
      if (exitCode !== undefined) exitCodes.streamOutput.push(exitCode);
    }
    exitCodes.getOutput.push((await execs.getOutput(id)).exitCode);
    await execs.list();
    await execs.delete(id);
  }
  return exitCodes;
};

/** Runs many scripts in a session, one after another, and leaves it open; gives their exit codes. */
globalThis.runInSession = async ({ url, token, count }) => {
  const { sessions } = await connect({ url, token });
  const session = await sessions.create();
  const exitCodes = [];
  for (let number = 0; number < count; number++) {
    exitCodes.push((await session.run(`seq 20000; (exit ${number})`)).exitCode);
  }
  return exitCodes;
};

/** Gives the error of a command that can't be run. */
globalThis.failToRun = async ({ url, token }) => {
  const { execs } = await connect({ url, token });
  return execs.exec("x", [], { env: { SECRET: "x" } }).then(String, String);
};

/** Prints a text; gives the output, and the encodings that a decoder was made for meanwhile. */
globalThis.printText = async ({ url, token, text }) => {
  const { TextDecoder } = globalThis;
  const encodings = [];
  globalThis.TextDecoder = class extends TextDecoder {
    constructor(encoding, options) {
      super(encoding, options);
      encodings.push(encoding);
    }
  };
  try {
    const { execs } = await connect({ url, token });
    const { output } = await execs.exec("printf", ["%s", text]);
    return { output, encodings };
  } finally {
    globalThis.TextDecoder = TextDecoder;
  }
};

globalThis.runInBackground = async ({ url, token, script }) => {
  const sandbox = await connect({ url, token });
  const { id } = await sandbox.background.spawn(script);
  // Another client, of the same place.
  const processes = background(sandbox);
  const { status, exitCode } = await processes.wait(id);
  const { output } = await processes.readOutput(id);
  await processes.remove(id);
  return { status, exitCode, output };
};

globalThis.useTool = async ({ url, token, script }) => {
  const [bash] = tools(await connect({ url, token }));
  return bash.execute({ script });
};
