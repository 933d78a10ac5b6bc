// Types of the events of a session, one for each kind of journal line (docs/journal.md of Toolgate).

import type { Decision } from "./approvals.js";
import type { PromptOutcome, SessionDetails } from "./protocol.js";

/** Kinds of errors of calls. A newer server may send others. */
export type ToolErrorKind =
  | "unknown_tool" | "bad_arguments" | "forbidden" | "denied" | "blocked" | "timed_out" | "cancelled" | "stopped"
  | "io" | "crashed" | "fatal"
  | (string & {});

/** Members of all events. */
type EventHead = {
  /** Number of the event, from 1. `attach` continues after it. */
  cursor: number;
  /** Number of the journal line; the same as `cursor`. */
  seq: number;
  /** Time of writing: RFC 3339, UTC. */
  at: string;
  /** Hash of the line and of the lines before it. */
  hash: string;
};

/** Image in an event. Its bytes are not in the journal. */
export type ImageDigest = { mime: string; sha256: string; bytes: number };
/** File with the whole output of a call. */
export type OutputFile = { path: string; sha256: string; bytes: number };

/** Members of each kind of event, after those of all events. `call` is the `id` of a `call`. */
export type EventMembers = {
  /** The session starts or resumes. */
  session: Pick<SessionDetails, "cwd" | "sandbox" | "approval"> & {
    version: string; model: string; wire: string; resumed: boolean; base_url?: string; client?: string;
  };
  /** Prompt of the user. */
  prompt: { text: string; images?: ImageDigest[] };
  /** Response of the model. This client adds `text`: all text of the response. */
  said: { text: string; wire: string; items: Array<Record<string, unknown>> };
  /** Call of a tool, with its arguments as they came. */
  call: {
    id: string; tool: string; arguments: string;
    form: "function" | "custom" | "local_shell" | "mcp" | "client" | "client_text";
    remote?: { server: string; tool: string };
  };
  /** Effects of a call, before the policy decides. */
  intent: { call: string; effects: string[] };
  /** Decision of the policy. `by` is the rule or the default. */
  verdict: { call: string; verdict: "allow" | "ask" | "forbid"; why: string[]; by: string };
  /** An approval is requested. */
  asked: { call: string; why: string[] };
  /** An approval request is answered. */
  decided: { call: string; decision: Decision; by: string };
  /** The call is about to run. */
  attempt: { call: string; number: number; enforcement: string };
  /** Answer of a call. `refused` has the accesses that the sandbox refused to it. */
  answered: {
    call: string; success: boolean; error?: ToolErrorKind; took_ms: number; text: string; pictures?: ImageDigest[];
    spilled?: OutputFile; refused?: string[];
  };
  /** The whole output of a call was hashed. */
  kept: { call: string } & OutputFile;
  /** The plan changed. */
  plan: { steps: Array<{ step: string; status: string }> };
  /** Changes of a turn to files, as git writes them. */
  diff: { text: string };
  /** Cost of a request to the model. */
  usage: {
    input_tokens: number; cached_tokens: number; output_tokens: number; request_bytes: number; model_ms: number;
  };
  /** The conversation was shortened. */
  compacted: { summary: string; dropped: number };
  /** The session belongs to an agent of the session `of`. */
  agent: { path: string; of: string };
  /** Text was added during a turn. */
  added: { text: string };
  /** A turn ended. */
  turn: { id: string; ended: PromptOutcome; detail?: string };
  /** A turn was stopped. */
  interrupted: { why: string };
  /** Anything else. */
  notice: { text: string };
  /** The session ended. */
  end: { why: string };
};

/** Event of one kind, for example `EventOf<"answered">`. */
export type EventOf<Kind extends keyof EventMembers> = { kind: Kind } & EventHead &
  EventMembers[Kind] &
  // Every event has `text` for the compiler, so that a program can read it without asking for the kind.
  Omit<{ text?: undefined }, keyof EventMembers[Kind]>;

/**
 * Event of a session. `kind` says which other members it has. A newer server may send kinds that are not listed here:
 * handle them in `default:` of a `switch`, or assign the event to a variable of the type `UnknownEvent` first.
 */
export type SessionEvent = { [Kind in keyof EventMembers]: EventOf<Kind> }[keyof EventMembers];

/** Event whose kind may be unknown to this package. Every `SessionEvent` can be assigned to it. */
export type UnknownEvent = EventHead & { kind: string; text?: string | undefined; [member: string]: unknown };
