// @ts-check
// The user's SSH configuration is for a person's own connections: a script over there gets no way back.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { SshError } from "sandpipe";
import { sshRuntime } from "sandpipe/node";

// No part of the package's interface.
import { refusal } from "../../dist/node/ssh/failures.js";
import { fixedSettings, readVersion } from "../../dist/node/ssh/settings.js";
import { freePort } from "../support/free-port.mjs";
import { marked, until } from "../support/processes.mjs";
import { startSshd } from "../support/sshd.mjs";
import { failure, mark } from "../support/script.mjs";

/** @param {number} port */
async function listens(port) {
  const socket = connect(port, "127.0.0.1");
  const [outcome] = await Promise.race([
    once(socket, "connect").then(() => [true]),
    once(socket, "error").then(() => [false]),
  ]).catch(() => [false]);
  socket.destroy();
  return outcome;
}

describe("a machine over SSH, whatever the user's configuration says,", () => {
  /** @type {Awaited<ReturnType<typeof startSshd>>} */
  let sshd;
  /** @type {import("node:child_process").ChildProcess} */
  let agent;
  /** @type {string} */
  let folder;
  /** @type {number[]} */
  let ports;
  const environment = { ...process.env };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "sandpipe-t-"));
    const hostKey = join(folder, "another_host_key");
    execFileSync("ssh-keygen", ["-q", "-t", "ecdsa", "-N", "", "-f", hostKey]);
    const allowed = ["AllowAgentForwarding yes", "X11Forwarding yes", "AllowTcpForwarding yes"];
    sshd = await startSshd({ settings: [`HostKey ${hostKey}`, ...allowed] });
    const socket = join(folder, "agent");
    agent = spawn("ssh-agent", ["-D", "-a", socket], { stdio: "ignore" });
    await until(() => existsSync(socket));
    const authority = join(folder, "authority");
    execFileSync("xauth", ["-f", authority, "add", ":77", ".", "0".repeat(32)], {
      stdio: "ignore",
    });
    Object.assign(process.env, { SSH_AUTH_SOCK: socket, DISPLAY: ":77", XAUTHORITY: authority });
    ports = [await freePort(), await freePort(), await freePort()];
  });
  after(async () => {
    for (const name of ["SSH_AUTH_SOCK", "DISPLAY", "XAUTHORITY"]) {
      if (environment[name] === undefined) delete process.env[name];
      else process.env[name] = environment[name];
    }
    agent.kill();
    await sshd.stop();
    rmSync(folder, { recursive: true });
  });

  /** A configuration with these lines. @param {string[]} lines */
  const configured = (lines) => {
    const file = join(folder, "config");
    writeFileSync(file, lines.join("\n"));
    return file;
  };

  /** What a person's own `ssh` gives. @param {string} configFile @param {string} script */
  const byHand = (configFile, script) => {
    const { port, user, identityFile, knownHostsFile, host } = sshd.options;
    const settings = [`Port=${port}`, `User=${user}`, `IdentityFile=${identityFile}`];
    settings.push(`UserKnownHostsFile=${knownHostsFile}`, "StrictHostKeyChecking=yes");
    const args = ["-F", configFile, ...settings.flatMap((line) => ["-o", line]), host, script];
    return execFileSync("ssh", args, {
      ...{ encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
      timeout: 120_000,
    });
  };

  /**
   * Runs a script twice: over a new connection, and over one that is there.
   *
   * @param {string} configFile @param {string} script @param {() => unknown} [meanwhile]
   */
  const outputOf = async (configFile, script, meanwhile) => {
    const ssh = sshRuntime({ ...sshd.options, configFile });
    const { output } = await ssh.run(script);
    assert.equal((await ssh.run(script)).output, output);
    await meanwhile?.();
    await ssh.close();
    return output;
  };

  for (const [what, line, script] of [
    ["agent", "ForwardAgent yes", 'echo "${SSH_AUTH_SOCK-none}"'],
    ["screen", "ForwardX11 yes\nForwardX11Trusted yes", 'echo "${DISPLAY-none}"'],
  ]) {
    it(`does not get the user's ${what}`, { timeout: 120_000 }, async () => {
      const config = configured([String(line)]);
      assert.notEqual(byHand(config, String(script)), "none\n", "a person's own ssh has it");
      assert.equal(await outputOf(config, String(script)), "none\n");
    });
  }

  it("forwards no port, neither way", { timeout: 120_000 }, async () => {
    const [remote = 0, local = 0, dynamic = 0] = ports;
    const config = configured([
      `RemoteForward ${remote} 127.0.0.1:${sshd.port}`,
      `LocalForward ${local} 127.0.0.1:${sshd.port}`,
      `DynamicForward ${dynamic}`,
    ]);
    const none = async () =>
      assert.deepEqual(await Promise.all(ports.map(listens)), [false, false, false]);
    assert.equal(await outputOf(config, "echo on", none), "on\n");
  });

  it("runs no command of this machine's, and writes to no file", { timeout: 120_000 }, async () => {
    const ran = join(folder, "ran");
    const config = configured([`PermitLocalCommand yes`, `LocalCommand echo ran >>'${ran}'`]);
    byHand(config, "true");
    assert.equal(readFileSync(ran, "utf8"), "ran\n", "a person's own ssh does");
    assert.equal(await outputOf(config, "echo on"), "on\n");
    assert.equal(readFileSync(ran, "utf8"), "ran\n");

    const { knownHostsFile } = sshd.options;
    const known = readFileSync(knownHostsFile, "utf8");
    const updating = configured(["UpdateHostKeys yes"]);
    const changed = `[ "$(cat '${knownHostsFile}')" != '${known.trim()}' ]`;
    byHand(updating, `until ${changed}; do sleep 0.02; done`);
    writeFileSync(knownHostsFile, known);
    assert.equal(await outputOf(updating, `sleep 0.5; ${changed} || echo same`), "same\n");
  });

  for (const line of [
    "StdinNull yes",
    "SessionType none",
    "ForkAfterAuthentication yes",
    "RemoteCommand echo another",
    "RequestTTY force\nEscapeChar ~\nEnableEscapeCommandline yes",
  ]) {
    it(`gets the script as it is: ${JSON.stringify(line)}`, { timeout: 120_000 }, async () => {
      const script = ": '\n~.\n~C\n'; tty; echo on";
      assert.equal(await outputOf(configured([line]), script), "not a tty\non\n");
    });
  }

  it(
    "is known by the file that the caller names, and by nothing else",
    { timeout: 120_000 },
    async () => {
      const unknown = join(folder, "nobody_known");
      writeFileSync(unknown, "");
      const command = `KnownHostsCommand /bin/cat "${sshd.options.knownHostsFile}"`;
      for (const line of [command, "NoHostAuthenticationForLocalhost yes"]) {
        const configFile = configured([line]);
        const ssh = sshRuntime({ ...sshd.options, knownHostsFile: unknown, configFile });
        const error = await failure(ssh.run("echo ran"));
        await ssh.close();
        assert.ok(error instanceof SshError);
        assert.match(error.message, /key is not known/);
      }
    },
  );

  it("has every setting hold for every ssh that is started", { timeout: 120_000 }, async () => {
    // In front of the real one: it writes down what it is told.
    const place = mkdtempSync(join(folder, "bin-"));
    const calls = join(place, "calls");
    const real = execFileSync("sh", ["-c", "command -v ssh"], { encoding: "utf8" }).trim();
    const recorder = `#!/bin/sh\nfor word in "$@"; do printf '%s\\0' "$word"; done >>'${calls}'.$$\n`;
    writeFileSync(join(place, "ssh"), `${recorder}exec ${real} "$@"\n`, { mode: 0o755 });
    const all = {
      ...{ ForwardAgent: "yes", ForwardX11: "yes", Tunnel: "yes", PermitLocalCommand: "yes" },
      ...{ GSSAPIDelegateCredentials: "yes", UpdateHostKeys: "yes", StdinNull: "yes" },
      ...{ ForkAfterAuthentication: "yes", SessionType: "none", RequestTTY: "force" },
      ...{ RemoteCommand: "echo another", KnownHostsCommand: "/bin/true", VerifyHostKeyDNS: "yes" },
      ...{ NoHostAuthenticationForLocalhost: "yes", DynamicForward: String(ports[0]) },
      ...{ ClearAllForwardings: "no", StrictHostKeyChecking: "no", BatchMode: "no" },
    };
    const configFile = configured(Object.entries(all).map(([name, value]) => `${name} ${value}`));
    const path = process.env["PATH"];
    process.env["PATH"] = `${place}:${path}`;
    const ssh = sshRuntime({ ...sshd.options, configFile });
    try {
      assert.equal((await ssh.run("echo on")).output, "on\n");
      const stop = new AbortController();
      const { line, env } = mark();
      const running = failure(ssh.run(`${line}sleep 600`, stop));
      await until(() => marked(env).length > 0);
      stop.abort();
      await running;
    } finally {
      await ssh.close();
      process.env["PATH"] = path;
    }
    const recorded = readdirSync(place)
      .filter((name) => name.startsWith("calls."))
      .map((name) => readFileSync(join(place, name), "utf8").split("\0").slice(0, -1))
      .filter(([first]) => first !== "-V");
    // The master, the two scripts, what stopped one of them, and the end of the master.
    assert.equal(recorded.length, 5);
    for (const args of recorded) {
      const isMaster = args.includes("-N");
      const effective = execFileSync(real, ["-G", ...args], { encoding: "utf8" });
      for (const line of [
        ...["forwardagent no", "forwardx11 no", "tunnel false", "permitlocalcommand no"],
        ...["gssapidelegatecredentials no", "updatehostkeys false", "requesttty false"],
        ...["clearallforwardings yes", "stricthostkeychecking true", "batchmode yes"],
        ...["nohostauthenticationforlocalhost no", "verifyhostkeydns false"],
        ...(isMaster ? [] : ["stdinnull no", "sessiontype default", "forkafterauthentication no"]),
      ]) {
        assert.match(effective, new RegExp(`^${line}$`, "m"), args.join(" "));
      }
      assert.doesNotMatch(effective, /^(remotecommand|knownhostscommand|dynamicforward) /m);
    }
  });
});

describe("the settings that always hold", () => {
  it("are those that the installed version knows", () => {
    assert.equal(readVersion("OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19"), 902);
    assert.equal(readVersion("OpenSSH_10.0p2, LibreSSL 3.3.6"), 1000);
    assert.equal(readVersion("OpenSSH_for_Windows_8.6p1, LibreSSL 3.4.3"), 806);
    assert.equal(readVersion("Sun_SSH_2.4"), 0);
    const names = (/** @type {number} */ version) => fixedSettings(version, true).join(" ");
    assert.doesNotMatch(names(0), /StdinNull|SessionType|ForkAfter|KnownHostsCommand/);
    assert.match(names(0), /ForwardAgent=no/);
    assert.match(names(805), /KnownHostsCommand=none/);
    assert.doesNotMatch(names(806), /StdinNull/);
    assert.match(names(807), /StdinNull=no/);
  });

  it("are not named in errors by an ssh that was built without them", () => {
    const said = `command-line line 0: Unsupported option "gssapidelegatecredentials"\r\nno way\r\n`;
    assert.match(refusal("host", said).message, /^host can't be reached over SSH: no way/);
  });
});
