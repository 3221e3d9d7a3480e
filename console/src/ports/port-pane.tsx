import { ChevronLeft } from "lucide";
import type { ExecItem, PortInfo } from "sandpipe";
import { CopyLine } from "../design/copy-line.js";
import { Icon } from "../design/icon.js";
import { hashOf } from "../route.js";
import { lineOf } from "../runs/command-line.js";
import { forwardCommand, isForwardable, reachOf, socketText } from "./reach.js";
import "../output/pane.css";

/** Who listens on a port, and how it is reached from elsewhere. */
export function PortPane({
  port,
  run,
  url,
  onBack,
}: {
  port: PortInfo;
  /** The run that it belongs to, as far as the list has it. */
  run: ExecItem | undefined;
  /** The agent's. */
  url: string;
  onBack: () => void;
}) {
  return (
    <section class="pane" aria-label={`Port ${port.port}`}>
      <div class="pane-head">
        <button class="quiet square narrow-only" aria-label="Back to the list" onClick={onBack}>
          <Icon of={ChevronLeft} />
        </button>
        <div class="pane-title">
          <h2>Port {port.port}</h2>
          <p class="pane-facts">
            <span>listens on {socketText(port)}</span>
          </p>
        </div>
      </div>
      <div class="port-body">
        <section aria-labelledby="port-reach">
          <h3 id="port-reach">Reach it from your machine</h3>
          {isForwardable(port.address) ? (
            <>
              <CopyLine text={forwardCommand(port.port, url)} />
              <p class="hint">
                It listens on your machine, and connects whoever connects there to this port, as
                long as it runs. It takes the agent’s token from <code>$SANDPIPE_TOKEN</code>, or
                with <code>--token-file</code>.
              </p>
            </>
          ) : (
            <p>
              Forwards connect to 127.0.0.1 and ::1, and this socket takes connections to{" "}
              <code>{port.address}</code> alone. Have it listen on 127.0.0.1, too.
            </p>
          )}
          <p class="hint">{REACH[reachOf(port.address)]}</p>
        </section>
        <section aria-labelledby="port-owner">
          <h3 id="port-owner">Who listens</h3>
          {port.command === undefined && port.pid === undefined ? (
            <p>
              A process that the agent can’t see: of another user, or outside of what commands may
              touch.
            </p>
          ) : (
            <dl class="facts">
              <dt>Program</dt>
              <dd class="code">{port.command ?? "not known"}</dd>
              <dt>Process</dt>
              <dd>pid {port.pid ?? "not known"}</dd>
            </dl>
          )}
          {port.exec === undefined ? (
            <p class="hint">No run of the list has started it, as far as the agent can tell.</p>
          ) : (
            <p>
              Started by the run{" "}
              <a class="code" href={hashOf({ page: "runs", id: port.exec })}>
                {run === undefined ? port.exec.slice(0, 8) : lineOf(run)}
              </a>
            </p>
          )}
        </section>
      </div>
    </section>
  );
}

const REACH = {
  loopback: "Otherwise only processes on the agent’s machine can connect.",
  everybody: "It takes connections from every address that its network is reached by.",
  "one address": "It takes connections to that address alone.",
};
