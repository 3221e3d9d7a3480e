// @ts-check
// Tests of startAgent({ image }): an agent in a container of podman's, over one kind of connection.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectTo, createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";

import { forwardPort } from "sandpipe/node";

import { noLimits, noSmallImage } from "../support/podman.mjs";
import { until } from "../support/processes.mjs";
import { withPodman } from "./with-podman.mjs";

/** More bytes than all buffers on the way hold. */
const MUCH = 8_000_000;

/** @param {"socket" | "stdio"} connection */
export function testContainers(connection) {
  describe(`an agent in a container, by ${connection}`, { skip: noSmallImage }, () => {
    const place = withPodman(connection);
    testClients(place);
    // What the container is does not depend on how it is reached.
    if (connection === "socket") testContents(place);
  });
}

/** @typedef {ReturnType<typeof withPodman>} Place */

/** @param {Place} place */
function testClients(place) {
  const { withAgent } = place;

  describe("without a network", () => {
    it("runs commands as the host does: exit codes, stdin, terminals, sessions, background", () =>
      withAgent({}, async ({ execs, sessions, background }) => {
        const script = "echo out; echo err >&2; exit 7";
        const result = await execs.exec("sh", ["-c", script]);
        assert.deepEqual([result.exitCode, result.stdout, result.stderr], [7, "out\n", "err\n"]);
        assert.equal((await execs.exec("no-such-program")).exitCode, 127);
        assert.equal((await execs.exec("sh", ["-c", "kill -9 $$"])).exitCode, 137);
        assert.equal((await execs.exec("cat", [], { input: "typed" })).output, "typed");

        const { id } = await execs.create({
          command: "sh",
          args: ["-c", "tty; exit 3"],
          pty: true,
        });
        const terminal = await execs.attach(id);
        let shown = "";
        for await (const { output } of terminal.output) shown += output;
        assert.deepEqual([shown, await terminal.exited], ["/dev/pts/0\r\n", 3]);
        terminal.close();

        const session = await sessions.create({ shell: "sh" });
        await session.run("cd /etc; x=5");
        const said = await session.run("pwd; echo $x; (exit 4)");
        assert.deepEqual([said.exitCode, said.output], [4, "/etc\n5\n"]);
        await session.close();

        const process = await background.spawn("echo up; sleep 0.2; exit 6");
        const { exitCode, status } = await background.wait(process.id);
        assert.deepEqual([status, exitCode], ["exited", 6]);
        assert.equal((await background.readOutput(process.id)).output, "up\n");
      }));

    it("gives 10 MB of output, every byte once, and 50 commands at once their own", () =>
      withAgent({}, async ({ execs }) => {
        const { output } = await execs.exec("seq", ["1", "1400000"]);
        assert.equal(output.length, 10_088_896);
        assert.equal(output, Array.from({ length: 1_400_000 }, (_, i) => `${i + 1}\n`).join(""));
        const many = Array.from({ length: 50 }, (_, i) =>
          execs.exec("sh", ["-c", `echo ${i}; exit ${i}`]),
        );
        const results = await Promise.all(many);
        assert.deepEqual(
          results.map(({ exitCode, output }) => [exitCode, output]),
          results.map((_, i) => [i, `${i}\n`]),
        );
      }));

    it("reaps what its commands leave behind, as process 1", () =>
      withAgent({}, async ({ execs }) => {
        await execs.exec("sh", ["-c", "for i in $(seq 50); do (sleep 0.05 &); done"]);
        const script = "while ps -o stat,comm | grep -E '^(Z|.* sleep)'; do sleep 0.05; done";
        assert.equal((await execs.exec("sh", ["-c", script], { timeoutMs: 60_000 })).exitCode, 0);
      }));

    it("has no network but its own loopback", () =>
      withAgent({}, async ({ execs }) => {
        const { output } = await execs.exec("cat", ["/proc/net/dev"]);
        assert.deepEqual(
          [...output.matchAll(/^ *(\w+):/gm)].map(([, name]) => name),
          ["lo"],
        );
        const server = createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1");
        await once(server, "listening");
        const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
        const asked = await execs.exec("nc", ["-w", "2", "127.0.0.1", String(port)]);
        server.close();
        assert.notEqual(asked.exitCode, 0);
        assert.equal(asked.stdout, "");
      }));
  });

  it("passes large bodies both ways, and holds no connection up for one that is not read", () =>
    withAgent({}, async (sandbox) => {
      const { execs, files } = sandbox;
      const bytes = randomBytes(MUCH);
      await files.write("/tmp/large", bytes);
      assert.ok(Buffer.from(await files.bytes("/tmp/large")).equals(bytes));

      const listen = "nc -ll -p 4000 -e sh -c 'cat /tmp/large; sha1sum'";
      await execs.create({ command: "sh", args: ["-c", listen] });
      await sandbox.ports.waitFor(4000);
      const forwarded = await forwardPort(sandbox, 4000, { localPort: 0 });
      const unread = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const socket = connectTo({ port: forwarded.port, allowHalfOpen: true }).pause();
          await once(socket, "connect");
          return socket;
        }),
      );
      assert.equal((await execs.exec("echo", ["there"])).output, "there\n");
      const [socket, ...others] = unread;
      assert.ok(socket !== undefined);
      // The other direction is at its end before.
      socket.end("typed");
      const received = Buffer.concat(await socket.toArray());
      assert.ok(received.subarray(0, MUCH).equals(bytes));
      const hash = createHash("sha1").update("typed").digest("hex");
      assert.equal(String(received.subarray(MUCH)), `${hash}  -\n`);
      for (const other of others) other.destroy();
      await forwarded.close();
    }));

  it("can't have its token read by a command, nor its socket replaced", () =>
    withAgent({}, async ({ execs }, { token }) => {
      const places = [
        "env",
        "cat /proc/[0-9]*/environ",
        "cat /proc/[0-9]*/cmdline",
        "find /run -type f ! -name sandpipe-agent -exec cat {} +",
        "dd if=/proc/1/mem bs=4096 count=1",
        "cat /proc/1/fd/0",
        "cat /proc/1/maps",
      ];
      for (const place of places) {
        const { output } = await execs.exec("sh", ["-c", place], { timeoutMs: 60_000 });
        assert.ok(!output.includes(token), place);
      }
      for (const file of ["environ", "mem", "maps"]) {
        const { exitCode } = await execs.exec("cat", [`/proc/1/${file}`]);
        assert.notEqual(exitCode, 0, file);
      }
      const [name = ""] = await place.podman.containers();
      assert.ok(!(await place.podman.podman("inspect", name)).includes(token));
      const { connection } = place.options;
      assert.equal(
        (await execs.exec("ls", ["-A", "/run/sandpipe"])).exitCode,
        connection === "socket" ? 0 : 1,
      );
      assert.notEqual((await execs.exec("touch", ["/run/sandpipe/agent.sock"])).exitCode, 0);
    }));
}

/** @param {Place} place */
function testContents(place) {
  const { withAgent } = place;

  it("has this machine's network where that is asked for", () =>
    withAgent({ network: "host" }, async ({ execs }) => {
      const server = createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
      assert.equal((await execs.exec("nc", ["127.0.0.1", String(port)])).output, "hello");
      server.close();
    }));

  it("reads and writes the workspace where it is mounted, and nothing else of this machine", () => {
    const workspace = mkdtempSync(`${place.temporary}, workspace-`);
    writeFileSync(join(workspace, "given"), "from outside");
    const done = withAgent({ workspace, workspaceAt: "/src" }, async ({ execs }) => {
      const script = "pwd; cat given; echo from inside > made";
      assert.equal((await execs.exec("sh", ["-c", script])).output, "/src\nfrom outside");
      assert.equal(readFileSync(join(workspace, "made"), "utf8"), "from inside\n");
      assert.notEqual((await execs.exec("ls", [workspace])).exitCode, 0);
      // A write would be refused of any program that runs.
      const program = await execs.exec("touch", ["/run/sandpipe-agent"]);
      assert.match(program.output, /Read-only file system/);
    });
    return done.finally(() => rmSync(workspace, { recursive: true }));
  });

  it("holds its limits of memory and processes, and lives on", { skip: noLimits }, () =>
    withAgent({ memory: "64m", pids: 40, cpus: 1 }, async ({ execs }) => {
      const eaten = await execs.exec("dd", ["if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"]);
      assert.equal(eaten.exitCode, 137);
      assert.ok(
        !existsSync("oom"),
        "the engine's monitor leaves nothing in the caller's directory",
      );
      const script = "for i in $(seq 60); do sleep 600 & done; echo all";
      const forked = await execs.exec("sh", ["-c", script]);
      assert.match(forked.output, /can't fork/);
      // There is room again when they have ended.
      const [newest] = await execs.list();
      await execs.delete(newest?.id ?? "");
      const isRefused = () =>
        execs.exec("true").then(
          () => false,
          ({ status }) => status === 503,
        );
      await until(async () => !(await isRefused()));
      assert.equal((await execs.exec("echo", ["there"])).output, "there\n");
    }),
  );

  it("has the capabilities that a package manager needs, and no program gives more", () =>
    withAgent({}, async ({ execs }) => {
      const sets = async () => {
        const { output } = await execs.exec("grep", [
          "-E",
          "^(Cap(Prm|Bnd)|NoNewPrivs)",
          "/proc/self/status",
        ]);
        return output;
      };
      // CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID (capability.h).
      const few = "00000000000000eb";
      assert.equal(await sets(), `CapPrm:\t${few}\nCapBnd:\t${few}\nNoNewPrivs:\t1\n`);
      const script = `set -e; mkdir d; echo x > d/f; chown -R 1000:1000 d; chmod 600 d/f; cat d/f; ls -ln d/f`;
      const { output } = await execs.exec("sh", ["-c", script], { cwd: "/tmp" });
      assert.match(output, /^x\n-rw-------\s+1 1000\s+1000 /);
      assert.equal((await execs.exec("id", ["-u"], { user: "1000" })).output, "1000\n");
      // It ends what another user runs.
      const exec = await execs.create({ command: "sleep", args: ["600"], user: "1000" });
      await execs.delete(exec.id);
      await until(async () => !(await execs.exec("ps")).output.includes("sleep 600"));
    }));

  it("has no capability where all are to be dropped", () =>
    withAgent({ dropCapabilities: true }, async ({ execs }) => {
      const { output } = await execs.exec("grep", ["-E", "^Cap(Prm|Bnd)", "/proc/self/status"]);
      assert.equal(output, "CapPrm:\t0000000000000000\nCapBnd:\t0000000000000000\n");
      assert.equal((await execs.exec("echo", ["there"])).output, "there\n");
      const isRefused = /400: .*may not run a command as .1000.: .*CAP_SETUID/;
      await assert.rejects(execs.exec("id", [], { user: "1000" }), isRefused);
      assert.equal((await execs.exec("id", ["-u"], { user: "root" })).output, "0\n");
    }));

  it("runs commands as users that the image does not know, by their numbers", () =>
    withAgent({}, async ({ execs }) => {
      const id = (/** @type {string} */ user) => execs.exec("id", [], { user });
      // It has no file of groups.
      assert.match((await id("user")).output, /^uid=1000\(user\) gid=1000/);
      assert.match((await id("1000")).output, /^uid=1000\(user\) gid=1000/);
      await execs.exec("rm", ["/etc/passwd"]);
      assert.match((await id("1000:2000")).output, /^uid=1000 gid=2000/);
      await assert.rejects(id("1000"), /the user 1000 has no entry .* "1000:GROUP"/);
      await assert.rejects(id("user"), /there is no user "user"/);
    }));
}
