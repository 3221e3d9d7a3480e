import { useState } from "preact/hooks";
import type { Sandbox } from "sandpipe";
import { connectTo } from "../connection/connect-to.js";
import { CopyLine } from "../design/copy-line.js";
import { textOf } from "../form.js";
import type { Credentials } from "./credentials.js";
import icon from "../icon.svg";
import { refusal, type Refusal } from "./refusal.js";
import "./sign-in.css";

/** Asks for an agent's address and token, and tries them. */
export function SignIn({
  url,
  refused: before,
  onSignIn,
}: {
  /** The address that is proposed. */
  url: string;
  /** What came of another attempt. */
  refused: Refusal | undefined;
  onSignIn: (credentials: Credentials, sandbox: Sandbox) => void;
}) {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState(before);

  async function signIn(credentials: Credentials) {
    setBusy(true);
    setRefused(undefined);
    let policyForbids = false;
    const onViolation = (event: SecurityPolicyViolationEvent) => {
      policyForbids ||= event.effectiveDirective === "connect-src";
    };
    document.addEventListener("securitypolicyviolation", onViolation);
    try {
      const sandbox = await connectTo(credentials);
      try {
        await sandbox.execs.list();
      } catch (error) {
        sandbox.close();
        throw error;
      }
      onSignIn(credentials, sandbox);
    } catch (error) {
      setRefused(refusal(error, credentials.url, policyForbids));
      setBusy(false);
    } finally {
      document.removeEventListener("securitypolicyviolation", onViolation);
    }
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    void signIn({ url: textOf(form, "url").trim(), token: textOf(form, "token").trim() });
  }

  return (
    <main class="sign-in">
      <form onSubmit={submit} aria-busy={busy}>
        <h1>
          <img src={icon} alt="" width="28" height="28" />
          Sandpipe
        </h1>
        <p>Sign in to an agent. It has said where it listens and which file has its token.</p>
        <label>
          Agent’s URL
          <input name="url" type="url" required defaultValue={url} {...invalid("url", refused)} />
        </label>
        <Remark field="url" refused={refused} />
        <label>
          Token
          <input
            name="token"
            type="password"
            required
            autocomplete="off"
            spellcheck={false}
            {...invalid("token", refused)}
          />
        </label>
        <Remark field="token" refused={refused} />
        <button class="primary" disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
        <p class="hint">Or have the command line open this page, signed in:</p>
        <CopyLine text="sandpipe console" />
      </form>
    </main>
  );
}

function invalid(field: Refusal["field"], refused: Refusal | undefined) {
  if (refused?.field !== field) return {};
  return { "aria-invalid": true, "aria-describedby": `${field}-refusal` };
}

function Remark({ field, refused }: { field: Refusal["field"]; refused: Refusal | undefined }) {
  if (refused?.field !== field) return null;
  return (
    <p class="failure" role="alert" id={`${field}-refusal`}>
      {refused.message}
    </p>
  );
}
