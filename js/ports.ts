import { checkSignal } from "./arguments.js";
import { Ports as Core, type PortInfo, type Sandbox } from "./core/sandpipe.js";
import { EventStream, type StreamOptions } from "./stream.js";

/**
 * The TCP ports that are listened on in a sandbox. Each call says what it throws; all throw {@link HttpError} as well, and
 * {@link UnsupportedError} where the agent has no ports.
 */
export class Ports extends Core {
  readonly #core: Sandbox;

  /** @internal */
  constructor(core: Sandbox) {
    super(core);
    this.#core = core;
  }

  /**
   * The sockets that listen, by port, then by address: as they are now, then again whenever something changed, up to some ten
   * times a second.
   *
   * @throws {InterruptedError} `options.signal` was aborted.
   */
  streamList(options?: StreamOptions): AsyncIterableIterator<{ ports: PortInfo[] }> {
    return new EventStream(() => this.#core.streamPorts(), checkSignal(options));
  }
}
