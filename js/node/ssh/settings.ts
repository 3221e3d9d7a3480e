// What holds for every `ssh` that is started, whatever the user's configuration says: it was written for a
// person's own connections, while a script is a stranger. In the order of ssh_config(5).
//
// Left to the configuration is how the host is found, reached and trusted, and how the user gets in: Host,
// Hostname, Port, ProxyCommand, ProxyJump, Match exec, KnownHostsCommand, IdentityAgent, PKCS11Provider and the
// like run programs on this machine, but the user's own, before the other side has a say. So are SendEnv and
// SetEnv, which name each variable that is sent (SANDPIPE_* is never among them), and AddKeysToAgent, which
// hands the user's key to the user's agent. EscapeChar and EnableEscapeCommandline need a terminal,
// ForwardX11Trusted, ForwardX11Timeout and XAuthLocation need ForwardX11, GatewayPorts, StreamLocalBindUnlink and
// PermitRemoteOpen need forwardings, LocalCommand needs PermitLocalCommand, TunnelDevice needs Tunnel.

/** OpenSSH of this version and later know the setting: 8.7 is 807. */
type Since = number;

/** What every version in use knows. */
const ANY: Since = 0;

const ALWAYS: readonly [name: string, value: string, since: Since][] = [
  // Nobody is there to be asked.
  ["BatchMode", "yes", ANY],
  // LocalForward, RemoteForward and DynamicForward: ports and sockets of either side on the other.
  ["ClearAllForwardings", "yes", ANY],
  ["ConnectTimeout", "30", ANY],
  // A session would not end with what it was started for.
  ["ForkAfterAuthentication", "no", 807],
  // The other side could log in elsewhere as the user.
  ["ForwardAgent", "no", ANY],
  // The other side could see the user's screen and type.
  ["ForwardX11", "no", ANY],
  // The other side would have the user's Kerberos ticket.
  ["GSSAPIDelegateCredentials", "no", ANY],
  ["LogLevel", "ERROR", ANY],
  // LocalCommand runs on this machine after each login.
  ["PermitLocalCommand", "no", ANY],
  // What is run is the script's shell.
  ["RemoteCommand", "none", ANY],
  // A connection that is dead is noticed after 45 s.
  ["ServerAliveCountMax", "3", ANY],
  ["ServerAliveInterval", "15", ANY],
  ["SessionType", "default", 807],
  // The script comes on stdin.
  ["StdinNull", "no", 807],
  // Also where the user's configuration has it off.
  ["StrictHostKeyChecking", "yes", ANY],
  // A network device that leads from either side to the other.
  ["Tunnel", "no", ANY],
  // The other side could write to the user's known_hosts.
  ["UpdateHostKeys", "no", ANY],
];

/** What else holds where the caller names the file with the known keys: no other key is known. */
const WITH_KNOWN_HOSTS: typeof ALWAYS = [
  ["GlobalKnownHostsFile", "none", ANY],
  ["KnownHostsCommand", "none", 805],
  ["NoHostAuthenticationForLocalhost", "no", ANY],
  ["VerifyHostKeyDNS", "no", ANY],
];

/**
 * The settings as arguments of `ssh`.
 *
 * @param version OpenSSH's. One that does not know a setting refuses it, and its configuration can't have it.
 */
export function fixedSettings(version: Since, namesKnownHosts: boolean): string[] {
  const settings = [...ALWAYS, ...(namesKnownHosts ? WITH_KNOWN_HOSTS : [])];
  const known = settings.filter(([, , since]) => version >= since);
  // RequestTTY has a form that every version knows.
  return ["-T", ...known.flatMap(([name, value]) => setting(name, value))];
}

/** Reads what `ssh -V` says: 902 for OpenSSH 9.2. What is something else has what every version has: 0. */
export function readVersion(said: string): Since {
  const [, major, minor] = /^OpenSSH_(?:[A-Za-z_]+_)?(\d+)\.(\d+)/.exec(said) ?? [];
  return Number(major ?? 0) * 100 + Number(minor ?? 0);
}

/** `-o NAME=VALUE`. */
export function setting(name: string, value: string): string[] {
  return ["-o", `${name}=${value}`];
}
