import { useEffect, useState } from "preact/hooks";
import { KeyboardHelp } from "./keyboard-help.js";
import { BackgroundPage } from "./background/page.js";
import { useLiveList } from "./connection/live-list.js";
import { PolicyBadge } from "./connection/policy.js";
import { ConnectionStatus } from "./connection/status.js";
import { ExecsPage } from "./execs/page.js";
import { PAGES, pageOf, type Page } from "./route.js";
import { SessionsPage } from "./sessions/page.js";
import { forget } from "./sign-in/credentials.js";
import { SignIn, type Agent } from "./sign-in/sign-in.js";

const TITLES: Record<Page, string> = {
  execs: "Execs",
  background: "Background",
  sessions: "Sessions",
};

export function App() {
  const [agent, setAgent] = useState<Agent>();
  const [again, setAgain] = useState(false);

  if (agent === undefined) return <SignIn onSignIn={setAgent} again={again} />;
  const signOut = () => {
    agent.sandbox.close();
    forget();
    setAgain(true);
    setAgent(undefined);
  };
  return <Console agent={agent} onSignOut={signOut} />;
}

function Console({ agent, onSignOut }: { agent: Agent; onSignOut: () => void }) {
  const page = usePage();
  const { execs, connection } = useLiveList(agent.sandbox);
  const { sandbox } = agent;

  return (
    <>
      <header>
        <span class="brand">Sandpipe</span>
        <nav aria-label="Pages">
          {PAGES.map((name) => (
            <a key={name} href={`#/${name}`} aria-current={name === page ? "page" : undefined}>
              {TITLES[name]}
            </a>
          ))}
        </nav>
        <ConnectionStatus connection={connection} />
        <PolicyBadge sandbox={sandbox} connection={connection} />
        <span class="agent">{new URL(agent.url).host}</span>
        <button onClick={onSignOut}>Sign out</button>
      </header>
      {/* All stay: an open output or a session goes on while another page is looked at. */}
      <main>
        <div hidden={page !== "execs"}>
          <ExecsPage sandbox={sandbox} items={execs} />
        </div>
        <div hidden={page !== "background"}>
          <BackgroundPage background={sandbox.background} shown={page === "background"} />
        </div>
        <div hidden={page !== "sessions"}>
          <SessionsPage sessions={sandbox.sessions} />
        </div>
      </main>
      <KeyboardHelp />
    </>
  );
}

function usePage(): Page {
  const [page, setPage] = useState(pageOf(location.hash));
  useEffect(() => {
    const read = () => {
      setPage(pageOf(location.hash));
    };
    addEventListener("hashchange", read);
    return () => {
      removeEventListener("hashchange", read);
    };
  }, []);
  useEffect(() => {
    document.title = `${TITLES[page]} – Sandpipe console`;
  }, [page]);
  return page;
}
