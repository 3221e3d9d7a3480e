// @ts-check
// The end of agents in containers, over a mounted socket.
import { testEnds } from "./container-end.mjs";

testEnds("socket");
