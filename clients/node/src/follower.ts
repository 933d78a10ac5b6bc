// Receiving side of one session: events, deltas, requests to this program, and reattaching after a lost connection.

import { answer, decide, type OnApproval, type OnQuestion } from "./approvals.js";
import type { Connection } from "./connection.js";
import { brief, InUse, JournalBehind, NoSuchMethod, warn } from "./errors.js";
import { EventLog } from "./events.js";
import {
  ErrorCode,
  type SessionAttachResult,
  type SessionDeltaParams,
  type SessionDetails,
  type SessionStartParams,
} from "./protocol.js";
import { pause } from "./stop.js";
import { describe, invoke, type Tool } from "./tools.js";
import type { TurnWatch } from "./turn.js";

/** Events of one session kept for slow or late readers. */
const KEEP_EVENTS = 4096;
/** Retries while another server still holds the session, and the pause between them. */
const IN_USE_TRIES = 20;
const IN_USE_PAUSE_MS = 100;

/** What this program does for a session. */
export interface Handlers {
  /** Functions of this program that the model may call. */
  tools?: readonly Tool[] | undefined;
  /** Decides approvals; without it, every call that needs approval is denied. */
  onApproval?: OnApproval | undefined;
  /** Answers questions of the model. */
  onQuestion?: OnQuestion | undefined;
  /** Gets text and output in progress; the complete event follows. A slow program misses some of it. */
  onDelta?: ((delta: SessionDeltaParams) => void) | undefined;
  /** Number of the newest events kept for slow or late readers (4096). */
  keepEvents?: number | undefined;
}

/** Receives the messages of a session. */
export class Follower {
  readonly log: EventLog;
  readonly tools: Map<string, Tool>;
  readonly watches = new Set<TurnWatch>();
  details: SessionDetails | undefined;
  attached: SessionAttachResult | undefined;
  /** How often another server than before continued the session. The processes of the one before are gone. */
  resumed = 0;
  /** Closed or detached: the session is not attached to again. */
  isLeaving = false;

  constructor(
    readonly id: string,
    /** Start options, for a server that has to resume the session from its journal. */
    readonly start: SessionStartParams,
    readonly handlers: Handlers,
    cursor: number,
  ) {
    this.log = new EventLog(id, cursor, handlers.keepEvents ?? KEEP_EVENTS);
    this.tools = new Map((handlers.tools ?? []).map((each) => [each.name, each]));
  }

  notify(method: string, params: any): void {
    if (method === "session/event") {
      const event = this.log.push(params);
      if (event) for (const watch of this.watches) watch.see(event);
      this.log.wake();
    } else if (method === "session/delta") {
      try {
        this.handlers.onDelta?.(params);
      } catch (error) {
        warn(`the \`onDelta\` handler threw an error: ${brief(error)}`, error);
      }
    }
  }

  answer(method: string, params: any, signal: AbortSignal): Promise<unknown> {
    if (method === "tool/invoke") return invoke(this.tools.get(params.tool), { ...params, signal });
    if (method === "approval/request") return decide(this.handlers.onApproval, params, signal);
    if (method === "user/ask") return answer(this.handlers.onQuestion, params, signal);
    throw new NoSuchMethod(ErrorCode.Method, `this client has no method \`${method}\``);
  }

  /** Attaches to the session after the last event received. */
  async attach(connection: Connection, stop: AbortSignal): Promise<void> {
    const { cursor } = this.log;
    const params = { session_id: this.id, cursor, tools: [...this.tools.values()].map(describe), start: this.start };
    const attached: SessionAttachResult = await connection.request("session/attach", params, stop);
    // The next events would reuse cursors of events that were already received.
    if (attached.cursor < cursor) {
      const journal = `the journal of session ${this.id} ends at ${attached.cursor}, before event ${cursor}`;
      throw new JournalBehind(`${journal}; attach to it at cursor 0`);
    }
    this.details = this.attached = attached;
    if (attached.resumed) this.resumed++;
  }

  /** Attaches after a lost connection. Retries while the previous server still holds the session. */
  async attachAgain(connection: Connection, stop: AbortSignal): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.attach(connection, stop);
      } catch (error) {
        if (!(error instanceof InUse) || tries === IN_USE_TRIES) throw error;
      }
      await pause(IN_USE_PAUSE_MS, stop);
    }
  }
}
