// Turns: the events and the result of one prompt, also if the connection is lost meanwhile.

import { ConnectionLost, TurnLost } from "./errors.js";
import type { SessionEvent } from "./event-types.js";
import type { EventLog } from "./events.js";
import type { Follower } from "./follower.js";
import type { Link } from "./link.js";
import type { SessionPromptResult } from "./protocol.js";

/** A turn of the model. Iterate over its events, or await its `result`, or both. */
export class Turn implements AsyncIterable<SessionEvent> {
  /** How the turn ended, and the model's last text. */
  readonly result: Promise<SessionPromptResult>;
  readonly #log: EventLog;
  readonly #from: number;
  #outcome: SessionPromptResult | undefined;
  #hasFailed = false;

  /** @internal */
  constructor(log: EventLog, result: Promise<SessionPromptResult>) {
    this.#log = log;
    this.#from = log.cursor;
    this.result = result;
    // Handles the error too: a program that only iterates gets it there.
    result
      .then(
        (outcome) => (this.#outcome = outcome),
        () => (this.#hasFailed = true),
      )
      .finally(() => log.wake());
  }

  /** Yields the events from the prompt to the end of the turn. Throws the error of the turn, if it has one. */
  async *[Symbol.asyncIterator](): AsyncGenerator<SessionEvent, void, undefined> {
    const ended = new Set<string>();
    const isOver = () =>
      this.#hasFailed || this.#outcome?.ended === "steered" || ended.has(this.#outcome?.turn_id ?? "");
    let hasBegun = false;
    for await (const event of this.#log.follow(this.#from, isOver)) {
      if (event.kind === "turn") ended.add(event.id);
      hasBegun ||= event.kind === "prompt" || event.kind === "added";
      if (hasBegun) yield event;
    }
    await this.result;
  }
}

/** Follows the events of one prompt: `prompt` or `added`, `said`, and the `turn` that ends it. */
export class TurnWatch {
  /** True if the journal has the prompt: as `prompt`, or as `added` to a running turn. */
  isTaken = false;
  /** True if the prompt is in the journal or a turn has ended. A busy server always sends one of the two. */
  hasMoved = false;
  outcome: SessionPromptResult | undefined;
  #text = "";
  #isCutOff = false;

  see(event: SessionEvent): void {
    if (["prompt", "added", "turn"].includes(event.kind)) this.hasMoved = true;
    if (event.kind === "prompt" || event.kind === "added") {
      this.isTaken = true;
    } else if (!this.isTaken || this.#isCutOff || this.outcome) {
      // The event belongs to another turn.
    } else if (event.kind === "session") {
      // Another server resumed the session, but not the turn.
      this.#isCutOff = true;
    } else if (event.kind === "said") {
      this.#text = event.text || this.#text;
    } else if (event.kind === "turn") {
      this.outcome = { turn_id: event.id, ended: event.ended, text: this.#text, detail: event.detail ?? null };
    }
  }
}

/** Returns the result of a turn whose response was lost, or undefined if the server never got the prompt. */
export async function settleTurn(
  watch: TurnWatch,
  follower: Follower,
  link: Link,
  stop: AbortSignal,
): Promise<SessionPromptResult | undefined> {
  const { log } = follower;
  // ends: each round is a connection, and the link gives up within bounds
  for (;;) {
    const connection = await link.ready(stop);
    if (log.isOver) throw log.error ?? new ConnectionLost("this client left the session before the turn ended");
    const isGone = () => connection.lost !== undefined || stop.aborted || log.isOver;
    const { cursor, busy } = follower.attached!;
    await log.until(() => isGone() || log.cursor >= cursor);
    if (watch.outcome) return watch.outcome;
    // The server may have accepted the prompt and not yet written it to the journal.
    if (busy) await log.until(() => isGone() || watch.hasMoved);
    if (isGone()) continue;
    if (!watch.isTaken) return undefined;
    if (!busy) {
      const lost = `the server died during a turn of session ${log.session}`;
      throw new TurnLost(`${lost}; its events end at ${log.cursor}, and \`prompt\` can be called again`);
    }
    await log.until(() => isGone() || watch.outcome !== undefined);
    if (watch.outcome) return watch.outcome;
  }
}
