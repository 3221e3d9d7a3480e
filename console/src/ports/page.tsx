import { EthernetPort, PanelRight, Unplug } from "lucide";
import { useMemo, useState } from "preact/hooks";
import type { Ports } from "sandpipe";
import type { Connection } from "../connection/state.js";
import { Empty } from "../design/empty.js";
import { Icon } from "../design/icon.js";
import { Rows } from "../design/rows.js";
import { PURPOSES } from "../frame/descriptions.js";
import { NARROW, useMedia } from "../media.js";
import { Failure } from "../message.js";
import { lineAt, shortLineOf } from "../runs/command-line.js";
import type { Runs } from "../runs/runs.js";
import { useStore } from "../store.js";
import { goTo } from "../use-route.js";
import { PortPane } from "./port-pane.js";
import { socketText } from "./reach.js";
import { PortRow } from "./row.js";
import { usePorts } from "./use-ports.js";
import "./ports.css";

/** The height of a row, in pixels. */
const ROW = 56;

/** The ports that are listened on in the sandbox, and who listens. */
export function PortsPage({
  ports,
  runs,
  url,
  connection,
  id,
  isShown,
}: {
  ports: Ports;
  runs: Runs;
  /** The agent's. */
  url: string;
  connection: Connection;
  /** The port that the address names, or its socket: `8000`, `127.0.0.1:8000`. */
  id: string | undefined;
  isShown: boolean;
}) {
  const isLive = connection.state === "live";
  const { list, error } = usePorts(ports, isShown && isLive);
  const items = useStore(runs.list.items);
  const byId = useMemo(() => new Map(items?.map((item) => [item.id, item] as const)), [items]);
  const [current, setCurrent] = useState<string>();
  const isNarrow = useMedia(NARROW);

  const port = list?.find((port) => socketText(port) === id || String(port.port) === id);
  const isPaneView = isNarrow && id !== undefined;
  const back = () => {
    goTo({ page: "ports" });
  };
  return (
    <div class="runs-page">
      {!isLive && list !== undefined && (
        <p class="pane-loss">
          <Icon of={Unplug} size={14} />
          <span>Not live: who listens may have changed since.</span>
        </p>
      )}
      <Failure error={isLive ? error : undefined} />
      <div class="columns">
        {!isPaneView && (
          <section class="list" aria-label="Ports">
            {list === undefined ? (
              <p class="list-note">{error === undefined ? "Waiting for the agent…" : ""}</p>
            ) : list.length === 0 ? (
              <Empty
                icon={EthernetPort}
                title="Nobody listens"
                command={lineAt(url, ["python3", "-m", "http.server", "8000"])}
              >
                {PURPOSES.ports}
              </Empty>
            ) : (
              <Rows
                label="Ports"
                items={list}
                idOf={socketText}
                rowHeight={ROW}
                current={current ?? (port && socketText(port))}
                onCurrent={setCurrent}
              >
                {(item, isCurrent) => {
                  const run = item.exec === undefined ? undefined : byId.get(item.exec);
                  return (
                    <PortRow
                      port={item}
                      run={run && shortLineOf(run)}
                      isShown={item === port}
                      isCurrent={isCurrent}
                      onOpen={() => {
                        goTo({ page: "ports", id: socketText(item) });
                      }}
                    />
                  );
                }}
              </Rows>
            )}
          </section>
        )}
        {(!isNarrow || isPaneView) && (
          <div class="outputs">
            {port !== undefined ? (
              <PortPane
                port={port}
                run={port.exec === undefined ? undefined : byId.get(port.exec)}
                url={url}
                onBack={back}
              />
            ) : id !== undefined && list === undefined ? (
              <p class="list-note">
                {isLive && error !== undefined ? "" : "Waiting for the agent…"}
              </p>
            ) : id !== undefined ? (
              <Empty
                icon={EthernetPort}
                title="Nobody listens there"
                action={<button onClick={back}>Show all ports</button>}
              >
                Nobody listens on <code>{id}</code>. As soon as somebody does, it is here.
              </Empty>
            ) : (
              list?.length !== 0 && (
                <Empty icon={PanelRight} title="No port is selected">
                  Choose one of the list, to see who listens and how to reach it.
                </Empty>
              )
            )}
          </div>
        )}
      </div>
    </div>
  );
}
