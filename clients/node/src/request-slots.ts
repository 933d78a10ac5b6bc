// Queue of requests for the server's limit on concurrent requests of a connection.

import { onAbort } from "./stop.js";

/** Limit until the server has announced its own. */
const DEFAULT_LIMIT = 256;
/** Slots for requests that end others, so that these can always be stopped. */
const RESERVED = 16;
const ENDING = new Set([
  "session/interrupt",
  "session/close",
  "session/detach",
  "process/write",
  "process/signal",
  "process/kill",
]);

interface Waiting {
  method: string;
  start(): void;
}

/** Limits concurrent requests. A request takes a slot, and returns it when the server has answered. */
export class RequestSlots {
  limit = DEFAULT_LIMIT;
  #used = 0;
  readonly #waiting = new Set<Waiting>();

  /** Takes a slot. Returns false if there is none. */
  take(method: string): boolean {
    const isFree = this.#used < this.#limitOf(method);
    if (isFree) this.#used++;
    return isFree;
  }

  /** Waits for a slot and takes it, in order of arrival. Rejects with the reason of `stop` when that aborts. */
  wait(method: string, stop: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => (this.#waiting.delete(waiting), reject(stop.reason));
      const waiting = { method, start: () => (stop.removeEventListener("abort", abort), resolve()) };
      onAbort(stop, abort);
      this.#waiting.add(waiting);
    });
  }

  /** Returns a slot, and starts the next request that has one. */
  release(): void {
    this.#used = Math.max(0, this.#used - 1);
    for (const waiting of this.#waiting) {
      if (!this.take(waiting.method)) continue;
      this.#waiting.delete(waiting);
      return waiting.start();
    }
  }

  /** Starts all waiting requests: the connection has ended, and rejects them. */
  end(): void {
    for (const waiting of this.#waiting) waiting.start();
    this.#waiting.clear();
  }

  #limitOf(method: string): number {
    if (ENDING.has(method)) return this.limit;
    const others = this.limit - Math.min(RESERVED, this.limit >> 2);
    // Tools of this program may send requests themselves while a turn waits for them.
    return method === "session/prompt" ? Math.ceil(others / 2) : others;
  }
}
