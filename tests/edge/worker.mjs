import { connect } from "sandpipe";

export default {
  /** @param {Request} request */
  async fetch(request) {
    const { url, token, command, args } = await request.json();
    const sandbox = await connect({ url, token });
    return Response.json(await sandbox.execs.exec(command, args));
  },
};
