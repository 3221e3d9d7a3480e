import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Sandbox } from "sandpipe";
import type { Agent } from "./agent.js";
import { connectTo } from "./connection/connect-to.js";
import type { Connection } from "./connection/state.js";
import { Frame } from "./frame/frame.js";
import { Waiting } from "./frame/waiting.js";
import { Pages } from "./pages.js";
import type { Credentials } from "./sign-in/credentials.js";
import { refusal, type Refusal } from "./sign-in/refusal.js";
import { Store, useStore } from "./store.js";
import { useRoute } from "./use-route.js";

/** What is known while the core is loaded. */
const CONNECTING = new Store<Connection>({ state: "connecting" });
const NO_POLICY = new Store<string | undefined>(undefined);

/** The console of an agent: its frame at once, its pages when the agent has answered. */
export function Console({
  credentials,
  agent,
  onOpen,
  onRefused,
  onSignOut,
}: {
  credentials: Credentials;
  /** Undefined while the core is loaded. */
  agent: Agent | undefined;
  /** The core is loaded. */
  onOpen: (sandbox: Sandbox) => void;
  /** The agent, or what is there in its place, has not let the page in. */
  onRefused: (refused: Refusal) => void;
  onSignOut: () => void;
}) {
  const { url } = credentials;
  const route = useRoute();
  const connection = useStore(agent?.runs.list.connection ?? CONNECTING);
  const policy = useStore(agent?.runs.policy ?? NO_POLICY);
  const isLive = connection.state === "live";
  /** The agent that is there has said its policy: it may be another one than before a loss. */
  const [hasPolicy, setHasPolicy] = useState(false);
  /** The agent has let the page in. */
  const wasLive = useRef(false);
  wasLive.current ||= isLive;

  useEffect(() => {
    if (agent !== undefined) return;
    let isLeft = false;
    connectTo(credentials).then(
      (sandbox) => {
        if (isLeft) sandbox.close();
        else onOpen(sandbox);
      },
      (error: unknown) => {
        if (!isLeft) onRefused(refusal(error, url, false));
      },
    );
    return () => {
      isLeft = true;
    };
  }, []);
  useEffect(() => {
    setHasPolicy(false);
    if (agent === undefined || !isLive) return;
    let isCurrent = true;
    void agent.runs.askPolicy().then(() => {
      if (isCurrent) setHasPolicy(true);
    });
    return () => {
      isCurrent = false;
    };
  }, [agent, isLive]);
  // Before the next frame is drawn: who is not let in sees the form alone.
  useLayoutEffect(() => {
    if (connection.state === "refused" && !wasLive.current) {
      onRefused({ field: "token", message: connection.reason });
    }
  }, [connection.state]);

  return (
    <Frame
      policy={hasPolicy ? policy : undefined}
      url={url}
      page={route.page}
      connection={connection}
      onTryNow={() => {
        agent?.runs.list.tryNow();
      }}
      onSignOut={onSignOut}
    >
      {agent !== undefined && wasLive.current ? (
        <Pages agent={agent} url={url} route={route} connection={connection} />
      ) : (
        <Waiting page={route.page} />
      )}
    </Frame>
  );
}
