import { connect } from "sandpipe";
import { tools } from "sandpipe/tools";

export default {
  /** @param {Request} request */
  async fetch(request) {
    const { url, token, command, args, script } = await request.json();
    const sandbox = await connect({ url, token });
    if (script !== undefined) {
      const [bash] = tools(sandbox);
      return Response.json(await bash.execute({ script }));
    }
    return Response.json(await sandbox.execs.exec(command, args));
  },
};
