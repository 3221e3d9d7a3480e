// What a model is told of the policy that its commands run under. Pure.
import type { PolicySummary } from "../policy-summary.js";

/** Describes a policy: what commands may touch, and what to ask for where that is not enough. */
export function policyText(policy: PolicySummary): string {
  const { name, workspace, network, settings } = policy;
  if (name === "open") {
    return `Commands run in ${workspace}, unconfined, with the permissions of the user who started Sandpipe.`;
  }
  return [
    `Commands run in ${workspace} under the policy ${name}, which confines them.`,
    `They may write ${writable(policy)}temporary files; other files are read-only or hidden.`,
    ...(policy.git === "any" ? [] : [GIT[policy.git]]),
    ...(settings.length === 0 || policy.write.length === 0 ? [] : [SETTINGS]),
    `Network: ${reachable(network)}.`,
    `What the policy refuses can't be done in another way: ask the user to start Sandpipe with ${WIDER}.`,
  ].join(" ");
}

/**
 * Says in one line that the policy has refused what a command's output or an error tells of; undefined where it tells of nothing.
 *
 * @param ask What the reader can do for an option: a person gives it, a model asks for it.
 */
export function refusalLine(
  policy: PolicySummary,
  said: string,
  ask: "give" | "ask the user for" = "ask the user for",
): string | undefined {
  const { name, git, network } = policy;
  if (name === "open") return undefined;
  const refused = `refused by ${policyCalled(name)}: `;
  const lines = said.split("\n").filter((line) => READ_ONLY.test(line));
  if (git === "read" && lines.some((line) => GIT_INIT.test(line))) {
    return `${refused}.git is read-only, and can't be made. To make a repository, ${ask} --extend '!git'.`;
  }
  if (git === "read" && lines.some((line) => /\.git\b/.test(line))) {
    return `${refused}.git is read-only. To commit, ${ask} --extend commits.`;
  }
  if (lines.some((line) => namesSetting(line.replaceAll(`${policy.workspace}/`, ""), policy))) {
    return `${refused}settings that tools execute are read-only. To write them, ${ask} --extend '!tool-settings'.`;
  }
  if (lines.length > 0) {
    return `${refused}commands may write only ${writable(policy)}temporary files. For another path ${ask} --allow-write PATH.`;
  }
  if (network !== "host" && (UNRESOLVED.test(said) || REFUSED_BY_PROXY.test(said))) {
    const direct = network !== "none" && UNRESOLVED.test(said) ? WITHOUT_PROXY : "";
    return `${refused}commands reach ${reachable(network)}.${direct} For another host ${ask} --allow-net HOST.`;
  }
  return undefined;
}

/** Says in one line which hosts the policy has refused, each as `HOST:PORT`; undefined where there are none. */
export function refusedHostsLine(
  { name }: PolicySummary,
  hosts: ReadonlySet<string>,
): string | undefined {
  const [first] = hosts;
  if (first === undefined) return undefined;
  const named = [...hosts].slice(0, SHOWN_HOSTS).join(", ");
  const more = hosts.size > SHOWN_HOSTS ? ` and ${hosts.size - SHOWN_HOSTS} more` : "";
  return `refused by ${policyCalled(name)}: connections to ${named}${more}. To allow it: --allow-net ${first}.`;
}

const SHOWN_HOSTS = 5;

function policyCalled(name: string): string {
  return name === "custom" ? "the policy" : `the policy ${name}`;
}

const GIT = {
  read: ".git is read-only: to commit, ask the user for --extend commits.",
  commit: "Commands may commit; hooks and settings of git are read-only.",
} as const;

const SETTINGS =
  "Settings that tools execute, such as .npmrc or .vscode, are read-only if they were there when the sandbox started.";

const WIDER =
  "--allow-write PATH, --allow-net HOST, or another --policy (in a program: the option `policy`)";

/** EROFS as an error, in the words of libc, Node.js and Go. Documents and names of file systems have the words, too. */
const READ_ONLY = /(?:^|[:\]]) *[Rr]ead-only file ?system|\bcode:? '?EROFS\b/;

/** Words of `git init`, which makes `.git` of a template. */
const GIT_INIT = /cannot (?:copy|mkdir) .*\.git\b/;

/** Whether a line has the path of a tool setting, relative to the workspace. */
function namesSetting(line: string, { settings }: PolicySummary): boolean {
  const names = settings.map((name) => name.replaceAll(".", String.raw`\.`)).join("|");
  if (names === "") return false;
  const before = String.raw`(?:^|[\s'"‘(:])(?:[^\s'"‘:/~][^\s'"‘:]*/)?`;
  return new RegExp(String.raw`${before}(?:${names})(?=$|[\s'"’):/])`).test(line);
}

/** Advice for programs that ask the machine's name servers: they may be ones that use no proxy. */
const WITHOUT_PROXY =
  " A program that ignores HTTPS_PROXY, such as fetch() of Node.js before 22.21, reaches of these only named ports of localhost, and names without * at ports below 1024.";

/** Words of programs that the proxy has refused a host. */
const REFUSED_BY_PROXY = new RegExp(
  [
    String.raw`CONNECT tunnel failed, response 403|proxy tunnel.*(?:403|forbidden)|403 from proxy`,
    String.raw`no rule of the policy's network\.allow`,
  ].join("|"),
  "i",
);

/**
 * Words of programs that reach no host without the proxy. Bundlers and npm "could not resolve" other
 * things.
 */
const UNRESOLVED = new RegExp(
  [
    String.raw`could not resolve (?:host|hostname|proxy)\b|unable to resolve host address`,
    String.raw`temporary failure (?:in name resolution|resolving)|name or service not known`,
    String.raw`network is unreachable`,
    String.raw`(?:getaddrinfo|connect|code|error)['": (]+(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b`,
  ].join("|"),
  "i",
);

function writable({ write, workspace }: PolicySummary): string {
  const named = write.map((path) => (/^\.?\/?$/.test(path) && path !== "/" ? workspace : path));
  return named.length === 0 ? "" : `${named.join(", ")} and `;
}

function reachable(network: PolicySummary["network"]): string {
  if (network === "host") return "everything that this machine reaches";
  if (network === "none") return "no host";
  return `only ${network.allow.join(", ")}, by the proxy that HTTPS_PROXY names`;
}
