// @ts-check
import { RequirementMissing } from "./requirement.mjs";

const MIN_VERSION = [20, 19];

export function requireNodeVersion() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [minMajor = 0, minMinor = 0] = MIN_VERSION;
  if (major < minMajor || (major === minMajor && minor < minMinor)) {
    throw new RequirementMissing(
      `Node ${MIN_VERSION.join(".")} or newer is needed; this is ${process.version}.`,
    );
  }
}
