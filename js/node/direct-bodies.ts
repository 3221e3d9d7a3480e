// How output is read at the speed of its socket. `node:http` reads into new memory each time and copies each
// chunk of a body once more, which takes three times as long as to read into the same memory over and over. Here
// it has its connections and parses what they bring, but for the data of chunked bodies: that goes from the
// socket's memory straight to who reads the body.
import http, { type IncomingMessage } from "node:http";
import { type OnReadOpts, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { PlainChunks } from "./plain-chunks.js";

/** How much is read at once, in bytes. What is not filled of it takes no memory. */
const READ_BYTES = 256 * 1024;

const END_OF_HEAD = "\r\n\r\n";
const NOTHING = Buffer.alloc(0);

const connections = new WeakMap<Duplex, Connection>();

/** An agent for `http:` whose connections read into memory that is used again. */
export class DirectAgent extends http.Agent {
  override createConnection(
    options: http.ClientRequestArgs,
    handOver?: (error: Error | null, socket: Duplex) => void,
  ): Duplex | null | undefined {
    const connection = new Connection();
    const adopt = (socket: Duplex | null | undefined): void => {
      if (!(socket instanceof Socket)) return;
      connection.socket = socket;
      connections.set(socket, connection);
    };
    // A connection to a proxy is made without it, and is read as `node:http` does.
    const all: typeof options & { onread: OnReadOpts } = { ...options, onread: connection.onread };
    const socket = super.createConnection(all, (error, made) => {
      adopt(made);
      handOver?.(error, made);
    });
    adopt(socket);
    return socket;
  }
}

/**
 * The body of an answer as it comes from the socket, up to where the message has the rest; undefined where the
 * message has all of it. To be called when the answer begins.
 */
export function directBody(message: IncomingMessage): DirectBody | undefined {
  return connections.get(message.socket)?.begin(message);
}

/** What a socket reads. */
class Connection {
  socket: Socket | undefined;
  /** The answer that came last, or is coming. */
  #message: IncomingMessage | undefined;
  #body: DirectBody | undefined;
  /** The last bytes of a head that has not come to its end. */
  #endOfHead: Buffer = NOTHING;
  /** Whether a body begins where `node:http` has parsed to, if an answer begins. */
  #isAtBody = false;
  /** While the body's data is taken out of its chunks. */
  #chunks: PlainChunks | undefined;
  /** Where the next read goes, and where the last chunk is that a reader has been given. */
  #memory: Buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  #other: Buffer | undefined;

  readonly onread = {
    buffer: () => this.#memory,
    callback: (length: number) => this.#read(this.#memory.subarray(0, length)),
  };

  begin(message: IncomingMessage): DirectBody | undefined {
    const isDirect = this.#isAtBody && message.headers["transfer-encoding"] === "chunked";
    this.#message = message;
    this.#body = isDirect ? new DirectBody(message) : undefined;
    this.#chunks = isDirect ? new PlainChunks() : undefined;
    return this.#body;
  }

  /** Hands on what was read; returns whether to read more. */
  #read(bytes: Buffer): boolean {
    const isFree = this.#body?.isFree ?? true;
    const ofBody = this.#parseHeads(bytes);
    if (this.#body === undefined || this.#chunks === undefined) {
      this.#parse(ofBody);
      return true;
    }
    let taken;
    try {
      taken = this.#chunks.take(ofBody);
    } catch (error) {
      this.socket?.destroy(error as Error);
      return false;
    }
    const { data, rest } = taken;
    if (data.length > 0) {
      this.#body.push(data);
      const last = this.#memory;
      this.#memory = (isFree ? this.#other : undefined) ?? Buffer.allocUnsafeSlow(READ_BYTES);
      this.#other = last;
    }
    if (rest !== undefined) {
      this.#leaveRest();
      this.#parse(rest);
    }
    // After an answer comes that to the next request, whoever still reads this one.
    return isFree || data.length === 0 || this.#message?.complete === true;
  }

  /** Lets `node:http` parse the heads of answers; returns what comes after them. */
  #parseHeads(bytes: Buffer): Buffer {
    let left = bytes;
    // There may be some before the answer itself: of statuses from 100 on.
    while (left.length > 0 && (this.#message?.complete ?? true)) {
      const known = this.#endOfHead.length;
      const found = Buffer.concat([this.#endOfHead, left]).indexOf(END_OF_HEAD);
      const isWhole = found !== -1;
      const end = isWhole ? found + END_OF_HEAD.length - known : left.length;
      const head = left.subarray(0, end);
      left = left.subarray(end);
      this.#endOfHead = isWhole
        ? NOTHING
        : Buffer.concat([this.#endOfHead, head]).subarray(1 - END_OF_HEAD.length);
      this.#isAtBody = isWhole;
      this.#parse(head);
      this.#isAtBody = false;
      // One without a body, whatever its headers say.
      if (this.#message?.complete) this.#leaveRest();
    }
    return left;
  }

  #leaveRest(): void {
    this.#chunks = undefined;
    this.#body?.end();
  }

  #parse(bytes: Uint8Array): void {
    // It copies what it keeps.
    if (bytes.length > 0) this.socket?.emit("data", bytes);
  }
}

/** The body of an answer, without what its message has of it. */
export class DirectBody {
  readonly #socket: Socket;
  readonly #chunks: Uint8Array[] = [];
  /** Whether a reader has a chunk that it has not done with. */
  #isLent = false;
  #isOver = false;
  #isDropped = false;
  #wake: (() => void) | undefined;

  constructor(message: IncomingMessage) {
    this.#socket = message.socket;
    // Also where the connection is lost.
    message.once("close", () => {
      this.end();
    });
  }

  /** Whether nobody reads any more what has come up to now. */
  get isFree(): boolean {
    return this.#isDropped || (!this.#isLent && this.#chunks.length === 0);
  }

  /** The next chunk, which stays as it is up to the next call; undefined where the message has the rest. */
  async next(): Promise<Uint8Array | undefined> {
    this.#isLent = false;
    if (this.#chunks.length === 0 && !this.#isOver) {
      this.#socket.resume();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const chunk = this.#chunks.shift();
    this.#isLent = chunk !== undefined;
    return chunk;
  }

  /** Nobody reads this. */
  drop(): void {
    this.#isDropped = true;
    if (!this.#isOver) this.#socket.resume();
  }

  push(chunk: Uint8Array): void {
    if (this.#isDropped) return;
    this.#chunks.push(chunk);
    this.#wake?.();
  }

  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }
}
