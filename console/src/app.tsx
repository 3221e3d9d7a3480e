import { useState } from "preact/hooks";
import type { Sandbox } from "sandpipe";
import { closeAgent, openAgent, type Agent } from "./agent.js";
import { Console } from "./console.js";
import {
  keepCredentials,
  ownAgent,
  startingCredentials,
  type Credentials,
} from "./sign-in/credentials.js";
import type { Refusal } from "./sign-in/refusal.js";
import { SignIn } from "./sign-in/sign-in.js";
import { forgetAll } from "./tab-storage.js";

/** The form that asks for an agent, or the console of one; its `agent` comes as soon as the core is loaded. */
type View =
  | { name: "form"; url: string; refused?: Refusal }
  | { name: "console"; credentials: Credentials; agent?: Agent };

/** With credentials the console is shown at once; the form only if the agent refuses them. */
const started = startingCredentials();

export function App() {
  const [view, setView] = useState<View>(
    started === undefined
      ? { name: "form", url: ownAgent }
      : { name: "console", credentials: started },
  );
  const open = (credentials: Credentials, sandbox: Sandbox) => {
    setView({ name: "console", credentials, agent: openAgent(sandbox) });
  };

  if (view.name === "form") {
    return (
      <SignIn
        url={view.url}
        refused={view.refused}
        onSignIn={(credentials, sandbox) => {
          keepCredentials(credentials);
          open(credentials, sandbox);
        }}
      />
    );
  }
  const { credentials, agent } = view;
  const leave = (form: Omit<View & { name: "form" }, "name">) => {
    if (agent !== undefined) closeAgent(agent);
    setView({ name: "form", ...form });
  };
  return (
    <Console
      credentials={credentials}
      agent={agent}
      onOpen={(sandbox) => {
        open(credentials, sandbox);
      }}
      onRefused={(refused) => {
        // With another failure it is another try that helps.
        if (refused.field === "token") forgetAll();
        leave({ url: credentials.url, refused });
      }}
      onSignOut={() => {
        forgetAll();
        leave({ url: ownAgent });
      }}
    />
  );
}
