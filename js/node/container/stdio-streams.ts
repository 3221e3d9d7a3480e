// Connections to an agent as streams of one HTTP/2 connection over its standard input and output
// (crates/agent/src/server/carrier.rs).
import { connect } from "node:http2";
import { Duplex, finished, PassThrough, type Readable, type Writable } from "node:stream";

/** How many bytes of one connection are taken before its client reads them. */
const STREAM_WINDOW = 256 * 1024;
/**
 * The same for all connections together: the most that HTTP/2 has (RFC 9113, 6.9.1), so that one that
 * is not read holds up no other.
 */
const ALL_STREAMS_WINDOW = 2 ** 31 - 1;
/** Memory that the connections may take together, in megabytes: a window bounds each of them. */
const MAX_MEMORY = 4096;

/**
 * Carries connections over the standard output and input of an agent.
 *
 * @returns Opens one. It is destroyed at once where the agent has ended.
 */
export function streamsOver(output: Readable, input: Writable): () => Duplex {
  const session = connect("http://agent", {
    createConnection: () => joined(output, input),
    maxSessionMemory: MAX_MEMORY,
    settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
  });
  session.once("connect", () => {
    session.setLocalWindowSize(ALL_STREAMS_WINDOW);
  });
  // Each of its connections ends with an error of its own.
  session.on("error", () => undefined);
  finished(output, { writable: false }, () => {
    session.destroy();
  });
  return () => {
    if (session.closed || session.destroyed) return new PassThrough().destroy();
    const stream = session.request({ ":method": "CONNECT", ":authority": "agent" });
    return stream.once("response", ({ ":status": status }) => {
      if (status !== 200) stream.destroy(new Error(`the agent refuses a connection: ${status}`));
    });
  };
}

/**
 * The two as one stream, which neither ends nor fails when they do: Node.js would shut it down before the
 * streams of HTTP/2 are, and fail at the next frame (an assertion in `internal/js_stream_socket`).
 */
function joined(output: Readable, input: Writable): Duplex {
  const pass = (bytes: Buffer): void => {
    if (!stream.push(bytes)) output.pause();
  };
  const stream = new Duplex({
    read: () => void output.resume(),
    write: (bytes, _encoding, done) => {
      input.write(bytes, () => {
        done();
      });
    },
    final: (done) => {
      input.end();
      done();
    },
    destroy: (_error, done) => {
      output.off("data", pass).resume();
      input.end();
      done(null);
    },
  });
  output.on("data", pass);
  return stream;
}
