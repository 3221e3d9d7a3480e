// @ts-check
// startAgent({ image }), over the container's standard streams.
import { testContainers } from "./container.mjs";

testContainers("stdio");
