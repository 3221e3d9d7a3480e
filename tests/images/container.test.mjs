// @ts-check
// startAgent({ image }), over a mounted socket.
import { testContainers } from "./container.mjs";

testContainers("socket");
