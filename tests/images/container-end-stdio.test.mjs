// @ts-check
// The end of agents in containers, over the container's standard streams.
import { testEnds } from "./container-end.mjs";

testEnds("stdio");
