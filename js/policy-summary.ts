/**
 * The policy of an agent or a runtime, where it is known without asking.
 *
 * @internal
 */
export const POLICY_SUMMARY = Symbol("sandpipe.policySummary");

/** Policy in few words, as an agent says it when it starts. */
export interface PolicySummary {
  /** Its name; `custom` where it is no preset. */
  readonly name: string;
  /** The directory that commands run in by default. */
  readonly workspace: string;
  /** What commands may write, as a policy names it. A last `…` stands for others. */
  readonly write: readonly string[];
  readonly network: "none" | "host" | { readonly allow: readonly string[] };
  /** What they may do with repositories of git. */
  readonly git: "read" | "commit" | "any";
  /** Names of tool settings that they can't write where these were there before. */
  readonly settings: readonly string[];
}

/** What may have a known policy. @internal */
export interface UnderPolicy {
  readonly [POLICY_SUMMARY]?: PolicySummary | undefined;
}

/** Returns the policy of something, if it is known. */
export function policyOf(something: unknown): PolicySummary | undefined {
  return (Object(something) as UnderPolicy)[POLICY_SUMMARY];
}
