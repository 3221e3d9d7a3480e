// @ts-check
import { RequirementMissing } from "./requirement.mjs";

const OLDEST = [20, 19];

export function requireNodeVersion() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throw new RequirementMissing(
      `Node ${OLDEST.join(".")} or newer is needed; this is ${process.version}.`,
    );
  }
}
