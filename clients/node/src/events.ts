// Bounded event log of one session: each event once and in order, for any number of readers.

import { EventsDropped } from "./errors.js";
import type { EventOf, SessionEvent } from "./event-types.js";
import type { SessionEventParams } from "./protocol.js";
import { currentStack, deferred, withStackOf } from "./stop.js";

/** Keeps the newest events, so that a late or slow reader does not slow down the connection. */
export class EventLog {
  /** Cursor of the last event received. */
  cursor: number;
  /** True if no more events come; `error` says why, if the reason is an error. */
  isOver = false;
  error: Error | undefined;
  readonly #first: number;
  readonly #kept = new Map<number, SessionEvent>();
  #lastKind = "";
  #news = deferred<void>();

  constructor(
    readonly session: string,
    cursor: number,
    readonly keep: number,
  ) {
    this.cursor = this.#first = cursor;
  }

  /** Adds an event. Returns undefined for a duplicate, which a second connection may send, and after the end. */
  push({ cursor, event: line }: SessionEventParams): SessionEvent | undefined {
    if (cursor <= this.cursor || this.isOver) return undefined;
    const event = { kind: "", ...line, cursor } as unknown as SessionEvent;
    if (event.kind === "said") event.text = saidText(event);
    this.cursor = cursor;
    this.#lastKind = event.kind;
    this.#kept.set(cursor, event);
    if (this.#kept.size > this.keep) this.#kept.delete(this.#oldest());
    return event;
  }

  /** Ends the log. Readers stop after the kept events, with the error if there is one. */
  end(error?: Error): void {
    if (!this.isOver) this.error = error;
    this.isOver = true;
    this.wake();
  }

  /** Lets all readers look again. */
  wake(): void {
    this.#news.resolve();
    this.#news = deferred();
  }

  /** Waits until a condition holds or the log has ended. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition() && !this.isOver) await this.#news.promise;
  }

  /** Waits for the last event of a closed session. */
  ended(): Promise<void> {
    return this.until(() => this.#lastKind === "end");
  }

  /** Yields every event after a cursor; by default all that this client received. Ends early when `isEnough`. */
  async *follow(after = this.#first, isEnough = () => false): AsyncGenerator<SessionEvent, void, undefined> {
    const reader = currentStack();
    // ends: with the log, or with `isEnough`
    for (let cursor = after; ;) {
      const event = this.#next(cursor);
      if (event) {
        cursor = event.cursor;
        yield event;
      }
      if (isEnough()) return;
      if (event) continue;
      if (this.error) throw withStackOf(reader, this.error);
      if (this.isOver) return;
      await this.#news.promise;
    }
  }

  #next(cursor: number): SessionEvent | undefined {
    if (cursor >= this.cursor) return undefined;
    const event = this.#kept.get(cursor + 1);
    if (event) return event;
    const events = `events ${cursor + 1} to ${this.#oldest() - 1} of session ${this.session}`;
    throw new EventsDropped(`${events} are no longer kept; attach a second client at cursor ${cursor} to read them`);
  }

  #oldest(): number {
    return this.#kept.keys().next().value ?? this.cursor + 1;
  }
}

function saidText({ items }: EventOf<"said">): string {
  const pieces = (items ?? []).flatMap((item: any) => item.pieces ?? []);
  return pieces.map((piece: any) => (typeof piece.text === "string" ? piece.text : "")).join("");
}
