// Client of one server: starts, lists and attaches to sessions, and dispatches the server's messages to them.

import type { Connection } from "./connection.js";
import {
  CannotConnect,
  ConnectionLost,
  JournalBehind,
  NoSuchSession,
  notToolgate,
  ProtocolError,
  RpcError,
  type ToolgateError,
} from "./errors.js";
import { Follower } from "./follower.js";
import { Link, type ReconnectPolicy, type Sending } from "./link.js";
import { checkArgument, checkOptions, type OptionTypes, REQUEST_OPTIONS } from "./options.js";
import {
  ErrorCode,
  PARAM_TYPES,
  type InitializeParams,
  type InitializeResult,
  PROTOCOL,
  type ServerRequests,
  type SessionDetails,
  type SessionListEntry,
  type SessionStartParams,
} from "./protocol.js";
import { Session, type SessionOptions } from "./session.js";
import { deferred, limited, type RequestOptions, settlesWithin } from "./stop.js";
import { describe } from "./tools.js";
import { childServer, type Opener, type ServerOptions, unixSocket, webSocket } from "./transport.js";

/** Version of this package. */
export const VERSION = "0.1.0";
/** Concurrent reattach requests, below the server's limit on concurrent requests of a connection. */
const ATTACH_TOGETHER = 32;
/** Time to wait for the last event after the response to `session/close`: responses and events have no order. */
const LAST_EVENT_MS = 1000;

const CLIENT_OPTIONS: OptionTypes = {
  reconnect: "boolean|object",
  timeoutMs: "number",
  signal: "AbortSignal",
  name: "string",
};
const RECONNECT_OPTIONS: OptionTypes = { firstMs: "number", longestMs: "number", withinMs: "number" };
const SERVER_OPTIONS: OptionTypes = {
  command: "string",
  args: "array",
  cwd: "string",
  env: "object",
  stderr: "string",
  killAfterMs: "number",
};
const ADDRESS_OPTIONS: OptionTypes = { socket: "string", websocket: "string", token: "string" };
const SESSION_OPTIONS: OptionTypes = {
  ...PARAM_TYPES["session/start"],
  onApproval: "function",
  onQuestion: "function",
  onDelta: "function",
  keepEvents: "number",
};

/** Options of a client. */
export interface ClientOptions {
  /** Opens lost connections again, also to a restarted server (false). */
  reconnect?: boolean | ReconnectPolicy | undefined;
  /** Time limit of each request that has none of its own, except prompts; none by default. */
  timeoutMs?: number | undefined;
  /** Aborts connecting. */
  signal?: AbortSignal | undefined;
  /** Name of this program for the server. */
  name?: string | undefined;
}

/** Address of a running server. */
export type ServerAddress = { socket: string } | { websocket: string; token: string };

/** A client of one server. `Toolgate.start` and `Toolgate.connect` create it. */
export class Toolgate implements AsyncDisposable {
  /** Resolves with the reason when the client is closed, or the connection is lost for good. */
  readonly closed: Promise<ToolgateError>;
  readonly #link: Link;
  readonly #hello: InitializeParams;
  readonly #followers = new Map<string, Follower>();
  #server: InitializeResult | undefined;
  /** Requests `session/start` without a response. Their sessions are unknown, so early notifications are kept. */
  #starting = 0;
  #early: Array<{ method: string; params: any }> = [];

  private constructor(opener: Opener, options: ClientOptions) {
    const { promise, resolve } = deferred<ToolgateError>();
    this.closed = promise;
    this.#hello = {
      protocol: PROTOCOL,
      client: { name: options.name ?? "toolgate (Node)", version: VERSION },
      // Always announced. A session without a handler answers with an error, and the server asks other clients.
      capabilities: { approvals: true, questions: true },
    };
    const peer = {
      answer: (method: string, params: any, signal: AbortSignal) => this.#answer(method, params, signal),
      notify: (method: string, params: any) => this.#notify(method, params),
      greet: (connection: Connection, stop: AbortSignal) => this.#greet(connection, stop),
      lost: () => this.#followers.forEach((follower) => follower.log.wake()),
      failed: (error: ToolgateError) => {
        this.#followers.forEach((follower) => follower.log.end(error.reason === "closed" ? undefined : error));
        this.#followers.clear();
        resolve(error);
      },
    };
    this.#link = new Link(opener, peer, options);
  }

  /** Starts a server and connects to it. Closing the client ends the server. */
  static async start(options: ServerOptions & ClientOptions = {}): Promise<Toolgate> {
    checkClientOptions("`Toolgate.start`", options, SERVER_OPTIONS);
    return Toolgate.#open(childServer(options), options);
  }

  /** Connects to a running server at a Unix socket or a WebSocket. The options may be in either argument. */
  static async connect(address: ServerAddress & ClientOptions, options: ClientOptions = {}): Promise<Toolgate> {
    checkAddress(address);
    checkClientOptions("`Toolgate.connect`", address, ADDRESS_OPTIONS);
    checkClientOptions("the second argument of `Toolgate.connect`", options, {});
    const opener = "socket" in address ? unixSocket(address.socket) : webSocket(address.websocket, address.token);
    return Toolgate.#open(opener, { ...address, ...options });
  }

  static async #open(opener: Opener, options: ClientOptions): Promise<Toolgate> {
    const client = new Toolgate(opener, options);
    await client.#link.open(options.signal);
    return client;
  }

  /** Name, version and limits of the server. */
  get server(): InitializeResult {
    return this.#server!;
  }

  /** Starts a session and follows its events. */
  async session(options: SessionOptions = {}, limits: RequestOptions = {}): Promise<Session> {
    checkOptions("`client.session`", options, SESSION_OPTIONS);
    checkOptions("the second argument of `client.session`", limits, REQUEST_OPTIONS);
    const { start, handlers } = split(options);
    const params = { ...start, tools: (handlers.tools ?? []).map(describe) };
    this.#starting++;
    try {
      const details: SessionDetails = await this.#link.request("session/start", params, {
        ...limits,
        // The request was aborted, so the session would have no owner.
        late: ({ session_id }) => void this.#link.request("session/close", { session_id }).catch(() => {}),
      });
      const follower = new Follower(details.session_id, start, handlers, 0);
      follower.details = details;
      this.#followers.set(follower.id, follower);
      const early = this.#early.filter(({ params }) => params.session_id === follower.id);
      for (const { method, params } of early) follower.notify(method, params);
      return this.#sessionOf(follower);
    } finally {
      this.#starting--;
      if (this.#starting === 0) this.#early = [];
    }
  }

  /**
   * Attaches to an existing session. Its events start after `cursor`, the last event seen (0). The other options are
   * those of `session`, for a server that resumes the session from its journal.
   */
  async attach(
    id: string,
    options: { cursor?: number } & SessionOptions = {},
    limits: RequestOptions = {},
  ): Promise<Session> {
    checkArgument("the session ID of `client.attach`", id, "string");
    checkOptions("`client.attach`", options, { cursor: "number", ...SESSION_OPTIONS });
    checkOptions("the third argument of `client.attach`", limits, REQUEST_OPTIONS);
    const { cursor = 0, ...others } = options;
    const { start, handlers } = split(others);
    if (this.#followers.has(id)) throw new TypeError(`this client follows session ${id} already`);
    const follower = new Follower(id, start, handlers, cursor);
    await limited(limits, "`session/attach`", async (stop) => {
      const connection = await this.#link.ready(stop);
      // Added before the request: events and questions may arrive before the response.
      this.#followers.set(id, follower);
      try {
        await follower.attach(connection, stop).catch(async (error) => {
          if (!this.#link.isRecoverable(error)) throw error;
          // Attached again with the other sessions.
          await this.#link.ready(stop);
          if (follower.log.error) throw follower.log.error;
        });
      } catch (error) {
        this.#followers.delete(id);
        throw error;
      }
    });
    return this.#sessionOf(follower);
  }

  /** Lists sessions, the newest first. With `live`, only those that the server runs. */
  async sessions(options: { limit?: number; live?: boolean } & RequestOptions = {}): Promise<SessionListEntry[]> {
    checkOptions("`client.sessions`", options, { ...PARAM_TYPES["session/list"], ...REQUEST_OPTIONS });
    const { signal, timeoutMs, ...params } = options;
    const listed = await this.#send("session/list", params, { signal, timeoutMs, again: true });
    return listed.sessions;
  }

  /** Sends any request. */
  async request<M extends keyof ServerRequests>(
    method: M,
    params: ServerRequests[M]["params"],
    options: RequestOptions = {},
  ): Promise<ServerRequests[M]["result"]> {
    checkOptions("`client.request`", options, REQUEST_OPTIONS);
    return this.#send(method, params, options);
  }

  /** Closes the connection, and ends a server that this client started. Pending requests are rejected with `Closed`. */
  close(): Promise<void> {
    return this.#link.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #send<M extends keyof ServerRequests>(
    method: M,
    params: object,
    options: Sending,
  ): Promise<ServerRequests[M]["result"]> {
    return this.#link.request(method, params, options);
  }

  #sessionOf(follower: Follower): Session {
    return new Session(this.#link, follower, (...args) => this.#leave(...args));
  }

  /** Closes a session or detaches from it. A session that no longer exists is removed without an error. */
  async #leave(follower: Follower, method: "session/close" | "session/detach", options: RequestOptions): Promise<void> {
    follower.isLeaving = true;
    try {
      await this.#send(method, { session_id: follower.id }, { ...options, again: true });
    } catch (error) {
      if (!(error instanceof NoSuchSession)) {
        follower.isLeaving = false;
        throw error;
      }
    }
    if (method === "session/close") await settlesWithin(follower.log.ended(), LAST_EVENT_MS);
    this.#followers.delete(follower.id);
    follower.log.end();
  }

  #notify(method: string, params: any): void {
    const follower = this.#followers.get(params.session_id);
    if (follower) follower.notify(method, params);
    else if (this.#starting > 0) this.#early.push({ method, params });
  }

  async #answer(method: string, params: any, signal: AbortSignal): Promise<unknown> {
    const follower = this.#followers.get(params.session_id);
    if (!follower) throw new NoSuchSession(ErrorCode.NoSession, "this client does not follow that session");
    return follower.answer(method, params, signal);
  }

  /** Introduces the client on a new connection, and attaches to its sessions again. */
  async #greet(connection: Connection, stop: AbortSignal): Promise<void> {
    try {
      const server: InitializeResult = await connection.request("initialize", this.#hello, stop);
      if (typeof server?.limits?.message_bytes !== "number") {
        throw notToolgate(connection, "it answered `initialize` without limits");
      }
      this.#server = server;
      connection.isIntroduced = true;
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      const { hint, retryable } = connection.transport!;
      if (error instanceof ProtocolError) throw new CannotConnect(error.message, false, error);
      throw new CannotConnect(`${error.message} before it answered; ${hint}`, retryable, error);
    }
    const { message_bytes, requests } = this.#server.limits;
    connection.longest = message_bytes;
    if (requests) connection.slots.limit = requests;
    const followers = [...this.#followers.values()].filter((each) => !each.isLeaving);
    while (followers.length > 0) {
      await Promise.all(followers.splice(0, ATTACH_TOGETHER).map((each) => this.#reattach(each, connection, stop)));
    }
  }

  async #reattach(follower: Follower, connection: Connection, stop: AbortSignal): Promise<void> {
    try {
      await follower.attachAgain(connection, stop);
    } catch (error) {
      if (!(error instanceof RpcError || error instanceof JournalBehind)) throw error;
      // Only this session ends; its readers get the error.
      this.#followers.delete(follower.id);
      follower.log.end(error);
    }
  }
}

function checkClientOptions(place: string, options: ServerOptions & ClientOptions, others: OptionTypes): void {
  checkOptions(place, options, { ...CLIENT_OPTIONS, ...others });
  if (typeof options.reconnect === "object") checkOptions("`reconnect`", options.reconnect, RECONNECT_OPTIONS);
}

/** Throws a `TypeError` unless the address names a socket, or a WebSocket with its token. */
function checkAddress(address: { socket?: unknown; websocket?: unknown; token?: unknown } | undefined): void {
  const { socket, websocket, token } = address ?? {};
  const isComplete =
    typeof socket === "string" ? websocket === undefined : typeof websocket === "string" && typeof token === "string";
  if (isComplete) return;
  throw new TypeError("`Toolgate.connect` takes { socket: PATH } or { websocket: URL, token: TOKEN }, and options");
}

function split(options: SessionOptions): {
  start: SessionStartParams;
  handlers: Pick<SessionOptions, "tools" | "onApproval" | "onQuestion" | "onDelta" | "keepEvents">;
} {
  const { tools, onApproval, onQuestion, onDelta, keepEvents, ...start } = options;
  return { start, handlers: { tools, onApproval, onQuestion, onDelta, keepEvents } };
}
