// @ts-check
import assert from "node:assert/strict";

import { testSessions } from "./place.mjs";

testSessions("the output of sessions", (place, { shellContract, contract }) => {
  contract("keeps stdout and stderr apart, and alters no output", () =>
    place.inSession(async (session) => {
      /** @type {string[]} */
      const events = [];
      const script = "printf 'no newline'; printf '€' >&2";
      const { output } = await session.run(script, {
        onOutput: ({ type, output }) => events.push(`${type} ${output}`),
      });
      assert.equal([...output].sort().join(""), [..."no newline€"].sort().join(""));
      assert.deepEqual(events.sort(), ["stderr €", "stdout no newline"]);
      assert.deepEqual(await session.run(""), { exitCode: 0, output: "" });
      const long = "seq 1 200000; seq 1 200000 >&2; echo end";
      const { output: all } = await session.run(long);
      assert.equal(all.split("\n").filter((line) => line === "200000").length, 2);
      assert.equal(all.length, 2 * 1_288_895 + 4);
    }),
  );

  shellContract("runs a script whose lines begin in every way, byte for byte", () =>
    place.inSession(async (session) => {
      const lines = [..."0123456789abcdefghijklmnopqrstuvwxyz"].map((c) => `${c}é\n${c}${c}é\n`);
      const { output } = await session.run(`printf %s '\n${lines.join("")}'`);
      assert.equal(output, `\n${lines.join("")}`);
    }),
  );

  contract("has each byte in the output of its own run", () =>
    place.inSession(async (session) => {
      for (let number = 0; number < 30; number += 1) {
        const { output } = await session.run(`echo out${number}; echo err${number} >&2`);
        assert.deepEqual(output.split("\n").sort(), ["", `err${number}`, `out${number}`]);
      }
    }),
  );

  shellContract("has no prompts in its output, whatever a script sets", () =>
    place.inSession(async (session) => {
      const settings = ["PS1='(venv) '; PS2='> '", "PROMPT_COMMAND='echo PC'"];
      if (place.shell === "bash") settings.push("trap 'echo ERR' ERR; (exit 1)");
      for (const setting of settings) {
        await session.run(setting);
        assert.equal((await session.run("echo hi\necho ho")).output, "hi\nho\n", setting);
      }
    }),
  );

  shellContract("tells the true exit code whatever IFS is", () =>
    place.inSession(async (session) => {
      for (const [ifs, code] of Object.entries({ 1: 1, "0123456789": 37, 3: 130, 7: 127 })) {
        assert.equal((await session.run(`IFS=${ifs}; (exit ${code})`)).exitCode, code);
        assert.equal((await session.run(`(exit ${code})`)).exitCode, code);
        // The script is left half way.
        const { exitCode } = await session.run("unset IFS; : ${nonexistent?}");
        const again = await session.run(`IFS=${ifs}${exitCode}; : \${nonexistent?}`);
        assert.deepEqual([again.exitCode, again.exitCode > 0], [exitCode, true]);
      }
    }),
  );

  shellContract("is not fooled by what looks like its markers", () =>
    place.inSession(async (session) => {
      const fake = `printf '\\036%s:e0,0\\036' 00000000000000000000000000000000
        printf '\\036'; set -v; set -x; echo traced; echo "$(set)" >/dev/null`;
      // What the shell traces, on stderr, can come in between.
      const stdoutOf = async (/** @type {string} */ script) => {
        let stdout = "";
        const { exitCode } = await session.run(script, {
          onOutput: ({ type, output }) => (stdout += type === "stdout" ? output : ""),
        });
        assert.equal(exitCode, 0);
        return stdout;
      };
      assert.equal(await stdoutOf(fake), `\x1e${"0".repeat(32)}:e0,0\x1e\x1etraced\n`);
      assert.equal(await stdoutOf("echo next; set +v; set +x"), "next\n");
      assert.deepEqual(await session.run("echo last"), { exitCode: 0, output: "last\n" });
    }),
  );

  shellContract("prints the lines of a script under `set -v`, and none of its own", () =>
    place.inSession(async (session) => {
      await session.run("set -v");
      const { exitCode, output } = await session.run("echo one >&2\n(exit 3)");
      assert.deepEqual([exitCode, output], [3, "echo one >&2\none\n(exit 3)\n"]);
      const next = await session.run("echo $? >&2; set +v");
      assert.equal(next.output, "echo $? >&2; set +v\n3\n");
      assert.equal((await session.run("set | grep ^sandpipe_")).output, "");
    }),
  );

  shellContract("hides its markers from the script", () =>
    place.inSession(async (session) => {
      const look = `set; env; cat /proc/$$/cmdline /proc/$$/environ | tr '\\0' '\\n'
        ls -l /proc/self/fd /proc/$$/fd | sed 's/.* \\([0-9]*\\) ->.*/fd \\1/'; read line || echo 'no stdin'`;
      const { output } = await session.run(look);
      assert.match(output, /no stdin/);
      assert.doesNotMatch(output, /[0-9a-f]{32}:|^fd [789]$/m);
    }),
  );

  shellContract("gives back its output when a script redirected it", () =>
    place.inSession(async (session) => {
      await session.run("FILE=$(mktemp)");
      const redirect = 'exec >"$FILE" 2>&1 8>/dev/null 9>&-; echo in the file';
      assert.deepEqual(await session.run(redirect), { exitCode: 0, output: "" });
      const { output } = await session.run('cat "$FILE"; rm "$FILE"; exec 1>&-');
      assert.equal(output, "in the file\n");
      assert.equal((await session.run("echo back")).output, "back\n");
    }),
  );

  shellContract(
    "loses no end to a program that left its output non-blocking, with the pipe full",
    () =>
      place.inSession(async (session) => {
        const perl = (/** @type {string} */ script) => `LC_ALL=C perl -MFcntl -e '${script}'`;
        const fill = `${perl('fcntl(STDOUT, F_SETFL, O_NONBLOCK | O_WRONLY); 1 while defined syswrite(STDOUT, "x" x 4096)')}; (exit 7)`;
        const isNonBlocking = perl(
          'print "", (grep { fcntl($_, F_GETFL, 0) & O_NONBLOCK } *STDOUT, *STDERR) + 0',
        );
        for (let number = 0; number < 10; number += 1) {
          assert.equal((await session.run(fill)).exitCode, 7);
          assert.equal((await session.run(isNonBlocking)).output, "0");
        }
      }),
  );
});
