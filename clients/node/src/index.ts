/// <reference lib="esnext.disposable" preserve="true" />
// Client of `toolgate serve`: sessions with tools of your own, approvals, events, files and processes.

export type { Approval, ApprovalAnswer, Decision, OnApproval, OnQuestion, Question } from "./approvals.js";
export { type ClientOptions, type ServerAddress, Toolgate, VERSION } from "./client.js";
export {
  Aborted, CallFailed, Cancelled, CannotConnect, Closed, ConnectionLost, EventsDropped, InternalFault, InUse,
  InvalidParams, InvalidRequest, JournalBehind, JournalFault, NoModel, NoSuchMethod, NoSuchProcess, NoSuchSession,
  NotInitialized, ParseFault, PeerFault, ProgramNotFound, ProtocolError, Refused, RpcError, TimedOut, ToolFailure,
  ToolgateError, TooMany, TurnLost, TurnNotDone, Unusable,
} from "./errors.js";
export type {
  EventMembers, EventOf, ImageDigest, OutputFile, SessionEvent, ToolErrorKind, UnknownEvent,
} from "./event-types.js";
export type { Handlers } from "./follower.js";
export type { ReconnectPolicy } from "./link.js";
export { type Piece, Process, type ProcessOutput } from "./process.js";
export { findProgram } from "./program.js";
export type * from "./protocol.js";
export {
  type ApprovalPolicy, type CommandResult, type Explanation, type FilePart, type SandboxMode, Session,
  type SessionOptions, type ToolAnswer,
} from "./session.js";
export type { RequestOptions } from "./stop.js";
export { type FromSchema, image, type Invocation, type Tool, tool, type ToolSchema } from "./tools.js";
export type { ServerOptions } from "./transport.js";
export { Turn } from "./turn.js";
