// Turns: the events and the result of one prompt, also if the connection is lost meanwhile.

import { brief, ConnectionLost, TurnLost, TurnNotDone, warn } from "./errors.js";
import type { SessionEvent } from "./event-types.js";
import type { EventLog } from "./events.js";
import type { Follower } from "./follower.js";
import type { Link } from "./link.js";
import type { SessionPromptResult } from "./protocol.js";
import { currentStack, withStackOf } from "./stop.js";

/** Ends of turns that are reported as a warning. The others are wanted: `done`, `interrupted` and `steered`. */
const FAILED = new Set<string>(["cut_short", "max_turns", "out_of_budget", "failed"]);
/** Details of turns for which the server sends none. */
const DETAILS: Readonly<Record<string, string>> = {
  cut_short: "the provider cut the response short",
  interrupted: "the turn was interrupted",
  max_turns: "the turn reached its limit of requests to the model (`max_turns` of the model)",
  out_of_budget: "the session used up its tokens (`max_tokens` of the model)",
  failed: "the server gives no reason",
  steered: "the prompt was added to a running turn, which has the answer",
};

/**
 * A turn of the model. Await it for its result, or iterate over its events, or both. An `async` function that returns a
 * turn returns its result, as for every promise.
 */
export class Turn implements AsyncIterable<SessionEvent>, PromiseLike<SessionPromptResult> {
  readonly #log: EventLog;
  readonly #from: number;
  readonly #result: Promise<SessionPromptResult>;
  #outcome: SessionPromptResult | undefined;
  #hasFailed = false;
  /** True if the program reads the result or the events, so that it gets an error. */
  #isRead = false;

  /** @internal */
  constructor(log: EventLog, result: Promise<SessionPromptResult>) {
    this.#log = log;
    this.#from = log.cursor;
    this.#result = result;
    // Handles the error too: a program that only iterates gets it there.
    result
      .then(
        (outcome) => {
          this.#outcome = outcome;
          const { ended, detail } = outcome;
          if (FAILED.has(ended)) warn(`session ${log.session}: the turn ended as \`${ended}\`: ${detail}`);
        },
        (error) => {
          this.#hasFailed = true;
          // Later: the program may read the turn in the same moment.
          setTimeout(() => {
            if (!this.#isRead) warn(`a prompt failed, and the program does not await its turn: ${brief(error)}`, error);
          }, 0);
        },
      )
      .finally(() => log.wake());
  }

  /** How the turn ended, and the model's last text. Awaiting the turn itself is the same. */
  get result(): Promise<SessionPromptResult> {
    this.#isRead = true;
    return this.#result;
  }

  /** Resolves with the result if the model finished the turn. Otherwise rejects with `TurnNotDone` and the reason. */
  async throwUnlessDone(): Promise<SessionPromptResult> {
    const caller = currentStack();
    const result = await this.result;
    if (result.ended !== "done") throw withStackOf(caller, new TurnNotDone(result));
    return result;
  }

  then<Fulfilled = SessionPromptResult, Rejected = never>(
    onfulfilled?: ((result: SessionPromptResult) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onrejected?: ((error: any) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.result.then(onfulfilled, onrejected);
  }

  catch<Rejected = never>(
    onrejected?: ((error: any) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<SessionPromptResult | Rejected> {
    return this.result.catch(onrejected);
  }

  finally(onfinally?: (() => void) | null): Promise<SessionPromptResult> {
    return this.result.finally(onfinally);
  }

  /** Yields the events from the prompt to the end of the turn. Throws the error of the turn, if it has one. */
  async *[Symbol.asyncIterator](): AsyncGenerator<SessionEvent, void, undefined> {
    this.#isRead = true;
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

/** Returns the result of a turn. One that is not done gets a `detail` if the server sends none. */
export function withDetail(result: SessionPromptResult): SessionPromptResult {
  if (result.ended === "done" || result.detail) return result;
  return { ...result, detail: DETAILS[result.ended] ?? `the turn ended as \`${result.ended}\`` };
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
