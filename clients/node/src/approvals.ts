// Approvals and questions: the types that handlers get, and the answers without a handler.

import { brief, PeerFault, warn } from "./errors.js";
import {
  type ApprovalRequestParams,
  type ApprovalRequestResult,
  ErrorCode,
  type UserAskParams,
  type UserAskResult,
} from "./protocol.js";

/**
 * Request to approve a call, with all members of the question (docs/pipe.md, "Questions").
 * Texts are as the model wrote them: escape control characters before you display them.
 */
export interface Approval {
  session_id: string;
  /** ID of the call in events. */
  call_id: string;
  /** Name of the tool that is called. */
  tool: string;
  /** Reasons why approval is needed, one sentence each. */
  why: string[];
  /** Script or command that the call runs, if any. */
  command: string | null;
  /** Diff of the files that the call would change, if any. */
  diff: string | null;
  /** Decisions that the server accepts. */
  choices: Decision[];
  /** Path of the subagent that asks; empty for the session's own agent. */
  agents: string[];
  /** Aborts when another client has answered, the call is cancelled, or the connection ends. */
  signal: AbortSignal;
  [detail: string]: unknown;
}

/** Decision on an approval request (docs/pipe.md of Toolgate). */
export type Decision = "approved" | "approved_for_session" | "approved_with_rule" | "denied" | "abort";
/** Answer to an approval: true, false, one of the `choices`, or a decision with a note for the model. */
export type ApprovalAnswer = boolean | Decision | { decision: Decision; note?: string | null };
export type OnApproval = (approval: Approval) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** Question of the model. `options` are suggestions; any other text is a valid answer too. */
export interface Question extends UserAskParams {
  signal: AbortSignal;
}
export type OnQuestion = (question: Question) => string | null | undefined | Promise<string | null | undefined>;

/** Calls the approval handler and returns its decision. Denies if the handler throws or returns an invalid decision. */
export async function decide(
  handler: OnApproval | undefined,
  params: ApprovalRequestParams,
  signal: AbortSignal,
): Promise<ApprovalRequestResult> {
  const none = { call_id: "", tool: "a call", why: [], command: null, diff: null, choices: [] };
  const approval: Approval = {
    ...none,
    ...params.question,
    session_id: params.session_id,
    agents: params.agents ?? [],
    signal,
  };
  if (!handler) {
    const effect = `\`${approval.tool}\` needs approval, and this program has no \`onApproval\` handler`;
    warn(`session ${params.session_id}: ${effect}; the call is denied unless another client approves it`);
    throw new PeerFault(ErrorCode.Peer, "this program has no `onApproval` handler for the session");
  }
  try {
    return checked(await handler(approval), approval.choices);
  } catch (error) {
    if (!signal.aborted) warn(`the approval handler threw an error, and the call is denied: ${brief(error)}`, error);
    return { decision: "denied", note: `the approval handler failed: ${error}` };
  }
}

function checked(said: ApprovalAnswer, choices: Decision[]): ApprovalRequestResult {
  const decision: Exclude<ApprovalAnswer, boolean | string> =
    typeof said === "boolean"
      ? { decision: said ? "approved" : "denied" }
      : typeof said === "string"
        ? { decision: said }
        : said;
  if (typeof decision?.decision === "string" && (choices.length === 0 || choices.includes(decision.decision)))
    return decision;
  throw new TypeError(
    `the handler returned ${JSON.stringify(said)}; it must return true, false, or one of ${choices.join(", ")}`,
  );
}

/** Calls the question handler and returns its answer, which is null if the handler throws. */
export async function answer(
  handler: OnQuestion | undefined,
  params: UserAskParams,
  signal: AbortSignal,
): Promise<UserAskResult> {
  if (!handler) {
    const effect = `the model asks "${params.question}", and this program has no \`onQuestion\` handler`;
    warn(`session ${params.session_id}: ${effect}; the question stays unanswered unless another client answers it`);
    throw new PeerFault(ErrorCode.Peer, "this program has no `onQuestion` handler for the session");
  }
  try {
    const said: unknown = (await handler({ ...params, signal })) ?? null;
    if (said !== null && typeof said !== "string")
      throw new TypeError(`the handler returned a ${typeof said}; it must return a string or null`);
    return { answer: said };
  } catch (error) {
    const effect = "the question handler threw an error, and the question stays unanswered";
    if (!signal.aborted) warn(`${effect}: ${brief(error)}`, error);
    return { answer: null };
  }
}
