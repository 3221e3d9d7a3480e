// @ts-check
// Background processes over a session.
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { testBackground } from "./suite.mjs";

for (const shell of ["bash", "dash"]) {
  const open = async () => {
    const agent = await startAgent();
    const { sessions } = await connect(agent);
    return { runtime: await sessions.create({ shell }), close: () => agent.stop() };
  };
  testBackground(`a session of ${shell}`, open, { alone: true });
}
