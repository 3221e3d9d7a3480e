import { checkAwaited } from "../arguments.js";
import { InvalidArgumentError } from "../core/errors.js";
import { type NodeParts, READ_TREE } from "../node-parts.js";
import type { Sandbox } from "../sandbox.js";
import { describe } from "../wrong-value.js";

/**
 * What a sandbox has for this entry of the package.
 *
 * @throws {InvalidArgumentError} It is none.
 * @internal
 */
export function partsOf(sandbox: Sandbox): NodeParts {
  checkAwaited("sandbox", sandbox);
  const parts = Object(sandbox) as Partial<NodeParts>;
  if (typeof parts[READ_TREE] === "function") return parts as NodeParts;
  throw new InvalidArgumentError(
    `\`sandbox\` must be what connect() of this copy of the package gives, but is ${describe(sandbox)}`,
  );
}
