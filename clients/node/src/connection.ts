// One JSON-RPC connection: requests and answers in both directions, `$/cancel`, and the end of the connection.

import { ArgumentError, brief, ConnectionLost, InvalidRequest, notToolgate, ProtocolError, RpcError, warn } from "./errors.js";
import { ErrorCode } from "./protocol.js";
import { RequestSlots } from "./request-slots.js";
import { onAbort, unlessStopped } from "./stop.js";
import type { Receiver, Transport } from "./transport.js";

/** Gets the server's requests and notifications, and the end of the connection. */
export interface Peer {
  answer(method: string, params: any, signal: AbortSignal): Promise<unknown>;
  notify(method: string, params: any): void;
  ended(connection: Connection): void;
}

/** Gets the response to a request that was cancelled and answered anyway. */
export type Late = (result: any) => void;

/** A request that waits for its response. */
interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** One connection to a server. At its end, every request without a response is rejected. */
export class Connection implements Receiver {
  /** Why the connection ended; undefined while it is open. */
  lost: ConnectionLost | undefined;
  /** Longest message in bytes. The server rejects a longer one without naming its ID. */
  longest = 16 << 20;
  transport: Transport | undefined;
  /** True after the response to `initialize`. */
  isIntroduced = false;
  /** Requests that the server is working on. Others wait for them. */
  readonly slots = new RequestSlots();
  readonly #peer: Peer;
  readonly #pending = new Map<number, Pending>();
  readonly #late = new Map<number, Late>();
  readonly #answering = new Map<unknown, AbortController>();
  #nextId = 1;
  #closing: Promise<void> | undefined;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  /**
   * Sends a request and waits for the response. Waits first if the server works on as many requests as it accepts. When
   * `stop` aborts, the server is told to cancel the request.
   */
  async request(method: string, params: object, stop: AbortSignal, late?: Late): Promise<any> {
    stop.throwIfAborted();
    if (this.lost) throw this.lost;
    if (!this.slots.take(method)) await this.slots.wait(method, stop);
    return this.#request(method, params, stop, late);
  }

  #request(method: string, params: object, stop: AbortSignal, late?: Late): Promise<any> {
    return new Promise((resolve, reject) => {
      if (this.lost) throw this.lost;
      const id = this.#nextId++;
      try {
        stop.throwIfAborted();
        this.#send({ id, method, params });
      } catch (error) {
        this.slots.release();
        throw error;
      }
      const abort = () => {
        this.#pending.delete(id);
        if (late && !this.lost) this.#late.set(id, late);
        this.#send({ method: "$/cancel", params: { id } });
        reject(stop.reason);
      };
      const settle = () => {
        this.#pending.delete(id);
        stop.removeEventListener("abort", abort);
      };
      onAbort(stop, abort);
      this.#pending.set(id, {
        resolve: (result) => (settle(), resolve(result)),
        reject: (error) => (settle(), reject(error)),
      });
    });
  }

  /** Closes the connection. Pending requests are rejected with `error`. Call it again if the transport opens later. */
  async close(error: ConnectionLost): Promise<void> {
    this.end(error);
    await (this.#closing ??= this.transport?.close());
  }

  end(error: ConnectionLost): void {
    if (this.lost) return;
    this.lost = error;
    this.#peer.ended(this);
    for (const pending of [...this.#pending.values()]) pending.reject(error);
    for (const answering of this.#answering.values()) answering.abort(error);
    this.#late.clear();
    this.slots.end();
  }

  receive(message: string): void {
    if (this.lost) return;
    try {
      this.#take(JSON.parse(message));
    } catch (error) {
      // After this, nobody knows which request the message would have answered.
      const what = "the server sent a line that is not a message of the protocol";
      this.end(
        this.isIntroduced
          ? new ProtocolError(`${what}: ${message.slice(0, 200)}`, error)
          : notToolgate(this, `it sent \`${message.slice(0, 80)}\``),
      );
    }
  }

  #take({ id, method, params, result, error }: any): void {
    if (method !== undefined && !this.isIntroduced) throw new TypeError("`initialize` was not answered first");
    if (method === undefined) this.#settle(id, result, error);
    else if (id !== undefined) void this.#answer(id, method, params);
    else if (method === "$/cancel") this.#answering.get(params.id)?.abort();
    else this.#peer.notify(method, params);
  }

  #settle(id: any, result: unknown, error: any): void {
    if (id === null || id === undefined) {
      // The server could not read a message, or rejects this client.
      return this.end(new ProtocolError(`the server reported: ${error.message} (${error.code})`));
    }
    this.slots.release();
    const late = this.#late.get(id);
    this.#late.delete(id);
    if (error) return this.#pending.get(id)?.reject(RpcError.of(error.code, error.message, error.data));
    if (late) late(result);
    else this.#pending.get(id)?.resolve(result);
  }

  async #answer(id: unknown, method: string, params: any): Promise<void> {
    const controller = new AbortController();
    this.#answering.set(id, controller);
    try {
      const result = await unlessStopped(this.#peer.answer(method, params, controller.signal), controller.signal);
      this.#send({ id, result });
    } catch (error) {
      this.#send({ id, error: errorObject(method, error, controller.signal) });
    } finally {
      this.#answering.delete(id);
    }
  }

  #send(message: object): void {
    if (this.lost) return;
    const text = wellFormed(serialized(message));
    const bytes = Buffer.byteLength(text);
    if (bytes > this.longest) {
      throw new InvalidRequest(ErrorCode.Request, `a message has at most ${this.longest} bytes; this one has ${bytes}`);
    }
    this.transport?.send(text);
  }
}

function errorObject(method: string, error: unknown, signal: AbortSignal): { code: number; message: string } {
  if (signal.aborted) return { code: ErrorCode.Cancelled, message: "the request was cancelled" };
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  warn(`the answer to ${method} failed: ${brief(error)}`, error);
  return { code: ErrorCode.Internal, message: `the client failed to answer: ${error}` };
}

function serialized(message: object): string {
  try {
    return JSON.stringify({ jsonrpc: "2.0", ...message });
  } catch (error) {
    // Only the first line: that of a cycle goes on with its path.
    const why = String((error as Error).message).split("\n")[0]!.replace("Converting circular structure to JSON", "it has a cycle");
    throw new ArgumentError(`the arguments have no JSON form: ${why}`, { cause: error });
  }
}

/** Replaces lone surrogates, which are not valid UTF-8: the server could not read the message, nor name its ID. */
function wellFormed(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\(ud[89a-f][0-9a-f]{2}|[^])/g, (whole, escaped: string) =>
    escaped.length > 1 ? "\ufffd" : whole,
  );
}
