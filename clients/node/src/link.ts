// Reconnecting link to a server, with exponential backoff and a time limit.

import { Connection, type Late, type Peer } from "./connection.js";
import { CannotConnect, Closed, ConnectionLost, ProtocolError, TimedOut, type ToolgateError } from "./errors.js";
import { limited, pause, type RequestOptions, unlessStopped } from "./stop.js";
import type { Opener } from "./transport.js";

/** Reconnect policy: pauses grow from `firstMs` to `longestMs`, and retries stop after `withinMs`. */
export interface ReconnectPolicy {
  firstMs?: number;
  longestMs?: number;
  withinMs?: number;
}

const DEFAULT_POLICY = { firstMs: 50, longestMs: 2000, withinMs: 60_000 };
/** Time that a server may take to accept a connection and to answer `initialize`. */
const HANDSHAKE_MS = 30_000;
/** Shortest time for one attempt to reconnect. */
const SHORTEST_ATTEMPT_MS = 100;

/** Options of a request inside this package. */
export interface Sending extends RequestOptions {
  /** Sends the request again if the connection is lost before the response. */
  again?: boolean;
  late?: Late;
}

/** Gets what happens to a link, besides the messages. */
export interface LinkPeer extends Omit<Peer, "ended"> {
  /** Runs first on each new connection. */
  greet(connection: Connection, stop: AbortSignal): Promise<void>;
  /** A connection was lost. */
  lost(): void;
  /** The link has failed for good. */
  failed(error: ToolgateError): void;
}

/** Sends requests over the current connection. Requests wait during a reconnect, and fail when it is given up. */
export class Link {
  /** True if lost connections are opened again. */
  readonly reconnects: boolean;
  readonly #policy: typeof DEFAULT_POLICY;
  readonly #timeoutMs: number | undefined;
  readonly #opener: Opener;
  readonly #peer: LinkPeer;
  /** Aborted when the link has failed for good; the reason is the error. */
  readonly #over = new AbortController();
  readonly #open = new Set<Connection>();
  #connecting: Promise<unknown> = Promise.resolve();
  #current!: Promise<Connection>;

  constructor(
    opener: Opener,
    peer: LinkPeer,
    options: { reconnect?: boolean | ReconnectPolicy | undefined; timeoutMs?: number | undefined },
  ) {
    const { reconnect = false, timeoutMs } = options;
    this.#opener = opener;
    this.#peer = peer;
    this.reconnects = reconnect !== false;
    this.#policy = { ...DEFAULT_POLICY, ...(typeof reconnect === "object" ? reconnect : {}) };
    this.#timeoutMs = timeoutMs;
  }

  /** Connects. With `reconnect`, also waits for a server that is starting. */
  async open(signal: AbortSignal | undefined): Promise<void> {
    this.#use(this.reconnects ? this.#persist() : this.#connect(this.#timeoutMs ?? HANDSHAKE_MS));
    try {
      await limited({ signal }, "connecting", (stop) => this.ready(stop));
    } catch (error) {
      await this.close(error as ToolgateError);
      throw error;
    }
  }

  /** Waits for a connection on which `greet` has finished. */
  ready(stop: AbortSignal): Promise<Connection> {
    return unlessStopped(unlessStopped(this.#current, this.#over.signal), stop);
  }

  /** Sends a request and waits for its response. */
  request(method: string, params: object, options: Sending = {}): Promise<any> {
    const { signal, timeoutMs = this.#timeoutMs, again, late } = options;
    return limited({ signal, timeoutMs }, `\`${method}\``, async (stop) => {
      // ends: `ready` does, and each connection is another one
      for (;;) {
        const connection = await this.ready(stop);
        try {
          return await connection.request(method, params, stop, late);
        } catch (error) {
          if (!again || !this.isRecoverable(error)) throw error;
        }
      }
    });
  }

  /** True for the loss of a connection that is opened again. */
  isRecoverable(error: unknown): boolean {
    return (
      this.reconnects &&
      error instanceof ConnectionLost &&
      error.reason === "connection_lost" &&
      !this.#over.signal.aborted
    );
  }

  /** Closes the link for good. Pending and later requests are rejected with `error`. */
  async close(error: ToolgateError = closed()): Promise<void> {
    this.#fail(error);
    const lost = error instanceof ConnectionLost ? error : closed();
    await Promise.all([...this.#open].map((connection) => connection.close(lost)));
    await this.#connecting;
  }

  #fail(error: ToolgateError): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort(error);
    this.#peer.failed(error);
  }

  #use(connection: Promise<Connection>): void {
    this.#current = connection;
    this.#connecting = connection.catch((error) => this.#fail(error));
  }

  async #persist(): Promise<Connection> {
    const { firstMs, longestMs, withinMs } = this.#policy;
    const deadline = performance.now() + withinMs;
    // ends: with the first attempt that fails after the deadline
    for (let wait = firstMs; ; wait = Math.min(2 * wait, longestMs)) {
      const left = Math.max(SHORTEST_ATTEMPT_MS, deadline - performance.now());
      try {
        return await this.#connect(Math.min(left, this.#timeoutMs ?? HANDSHAKE_MS));
      } catch (error) {
        const isPassing =
          error instanceof CannotConnect ? error.retryable : error instanceof TimedOut || this.isRecoverable(error);
        if (!isPassing) throw error;
        if (performance.now() >= deadline) {
          throw new ConnectionLost(`no server answered within ${withinMs} ms: ${(error as Error).message}`, error);
        }
      }
      await pause(Math.max(0, Math.min(wait, deadline - performance.now())), this.#over.signal);
    }
  }

  async #connect(timeoutMs: number): Promise<Connection> {
    let isReady = false;
    const connection = new Connection({
      answer: (method, params, signal) => this.#peer.answer(method, params, signal),
      notify: (method, params) => this.#peer.notify(method, params),
      ended: (ended) => this.#ended(ended, isReady),
    });
    this.#open.add(connection);
    try {
      await limited({ signal: this.#over.signal, timeoutMs }, "connecting", async (stop) => {
        connection.transport = await this.#opener(connection, stop);
        stop.throwIfAborted();
        await this.#peer.greet(connection, stop);
      });
      if (connection.lost) throw connection.lost;
      isReady = true;
      return connection;
    } catch (error) {
      await connection.close(closed());
      throw error;
    } finally {
      if (!isReady) this.#open.delete(connection);
    }
  }

  #ended(connection: Connection, isReady: boolean): void {
    if (!isReady || this.#over.signal.aborted) return;
    const lost = connection.lost!;
    const closing = connection.close(lost).finally(() => this.#open.delete(connection));
    if (!this.reconnects || lost instanceof ProtocolError) {
      this.#fail(lost);
    } else {
      // A child server must have exited before the next one starts: only one can hold a session.
      this.#use(closing.then(() => this.#persist()));
      this.#peer.lost();
    }
  }
}

function closed(): Closed {
  return new Closed("the client is closed");
}
