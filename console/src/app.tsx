import { useEffect, useMemo, useState } from "preact/hooks";
import { BackgroundPage } from "./background/page.js";
import { FilesPage } from "./files/page.js";
import { Frame, TITLES } from "./frame/frame.js";
import { Outputs } from "./output/outputs.js";
import { PortsPage } from "./ports/page.js";
import { RunsPage } from "./runs/page.js";
import { Runs } from "./runs/runs.js";
import { SessionsPage } from "./sessions/page.js";
import { SignIn, type Agent } from "./sign-in/sign-in.js";
import { useStore } from "./store.js";
import { forgetAll } from "./tab-storage.js";
import { useRoute } from "./use-route.js";

export function App() {
  const [agent, setAgent] = useState<Agent>();
  const [again, setAgain] = useState(false);

  if (agent === undefined) return <SignIn onSignIn={setAgent} again={again} />;
  const signOut = () => {
    agent.sandbox.close();
    forgetAll();
    setAgain(true);
    setAgent(undefined);
  };
  return <Console agent={agent} onSignOut={signOut} />;
}

function Console({ agent, onSignOut }: { agent: Agent; onSignOut: () => void }) {
  const { sandbox, url } = agent;
  const { page, id } = useRoute();
  const runs = useMemo(() => new Runs(sandbox), [sandbox]);
  const outputs = useMemo(() => new Outputs(sandbox.execs), [sandbox]);
  const connection = useStore(runs.list.connection);
  const policy = useStore(runs.policy);
  const isLive = connection.state === "live";
  /** The agent that is there has said its policy: it may be another one than before a loss. */
  const [hasPolicy, setHasPolicy] = useState(false);

  useEffect(
    () => () => {
      runs.close();
    },
    [runs],
  );
  useEffect(() => {
    setHasPolicy(false);
    if (!isLive) return;
    let isCurrent = true;
    void runs.askPolicy().then(() => {
      if (isCurrent) setHasPolicy(true);
    });
    return () => {
      isCurrent = false;
    };
  }, [runs, isLive]);
  useEffect(() => {
    document.title = `${TITLES[page]} – Sandpipe console`;
  }, [page]);

  return (
    <Frame
      policy={hasPolicy ? policy : undefined}
      url={url}
      page={page}
      connection={connection}
      onTryNow={() => {
        runs.list.tryNow();
      }}
      onSignOut={onSignOut}
    >
      {/* All stay: a session goes on while another page is looked at. */}
      <div class="page-content" hidden={page !== "runs"}>
        <RunsPage
          runs={runs}
          outputs={outputs}
          id={page === "runs" ? id : undefined}
          isShown={page === "runs"}
        />
      </div>
      <div class="page-content" hidden={page !== "files"}>
        <FilesPage
          files={sandbox.files}
          url={url}
          connection={connection}
          raw={page === "files" ? id : undefined}
          isShown={page === "files"}
        />
      </div>
      <div class="page-content" hidden={page !== "ports"}>
        <PortsPage
          ports={sandbox.ports}
          runs={runs}
          url={url}
          connection={connection}
          id={page === "ports" ? id : undefined}
          isShown={page === "ports"}
        />
      </div>
      <div class="page-content" hidden={page !== "background"}>
        <BackgroundPage
          background={sandbox.background}
          connection={connection}
          isShown={page === "background"}
        />
      </div>
      <div class="page-content" hidden={page !== "sessions"}>
        <SessionsPage sessions={sandbox.sessions} connection={connection} />
      </div>
    </Frame>
  );
}
