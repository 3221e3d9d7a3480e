import type { Agent } from "./agent.js";
import { BackgroundPage } from "./background/page.js";
import type { Connection } from "./connection/state.js";
import { FilesPage } from "./files/page.js";
import { PortsPage } from "./ports/page.js";
import type { Route } from "./route.js";
import { RunsPage } from "./runs/page.js";
import { SessionsPage } from "./sessions/page.js";

/** The pages. All stay while one of them is looked at: a session goes on meanwhile. */
export function Pages({
  agent: { sandbox, runs, outputs },
  url,
  route: { page, id },
  connection,
}: {
  agent: Agent;
  /** The agent's. */
  url: string;
  route: Route;
  connection: Connection;
}) {
  return (
    <>
      <div class="page-content" hidden={page !== "runs"}>
        <RunsPage
          runs={runs}
          outputs={outputs}
          url={url}
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
          url={url}
          connection={connection}
          isShown={page === "background"}
        />
      </div>
      <div class="page-content" hidden={page !== "sessions"}>
        <SessionsPage sessions={sandbox.sessions} connection={connection} />
      </div>
    </>
  );
}
