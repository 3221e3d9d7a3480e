// @ts-check
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { startSshd } from "../tests/support/sshd.mjs";

/**
 * A server on this machine and a connection to it that others share: `command` and a script of a remote
 * shell run it over that.
 */
export async function openSsh() {
  // bash takes itself for the first shell of a login otherwise, and reads the user's ~/.bashrc each time.
  const server = await startSshd({ settings: ["MaxSessions 200", "SetEnv SHLVL=2"] });
  const { host, port, user, identityFile, knownHostsFile } = server.options;
  const shared = ["-F", "none", "-o", `ControlPath=${join(server.folder, "control")}`];
  const command = ["ssh", ...shared, `${user}@${host}`];
  const [program = "", ...to] = command;
  const settings = [
    `UserKnownHostsFile=${knownHostsFile}`,
    "ControlMaster=yes",
    "ControlPersist=yes",
  ];
  try {
    execFileSync(program, [
      ...["-p", String(port), "-i", identityFile],
      ...settings.flatMap((setting) => ["-o", setting]),
      ...[...to, "true"],
    ]);
  } catch (error) {
    await server.stop();
    throw error;
  }
  const stop = async () => {
    try {
      execFileSync(program, ["-O", "exit", ...to], { stdio: "ignore" });
    } finally {
      await server.stop();
    }
  };
  return { command, stop };
}
