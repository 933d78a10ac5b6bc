// Error classes. `reason` is the machine-readable cause; each error code of the server has a class of its own.

import { ErrorCode, type SessionPromptResult } from "./protocol.js";

/** Base class of all errors of this package. */
export class ToolgateError extends Error {
  /** Machine-readable cause, such as `refused` or `connection_lost`. */
  readonly reason: string = "toolgate_error";

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
  }
}

/** Error response of the server. */
export class RpcError extends ToolgateError {
  override readonly reason: string = "rpc_error";

  /** `data` has details; for `Refused` it is the answer of the call. */
  constructor(
    readonly code: number,
    message: string,
    readonly data?: any,
  ) {
    super(message);
  }

  /** Creates an error of the class for `code`; an unknown code gives a plain `RpcError`. */
  static of(code: number, message: string, data?: unknown): RpcError {
    const isRefused = POLICY_ERRORS.has((data as any)?.error);
    if (code === ErrorCode.Refused && !isRefused) return new CallFailed(code, message, data);
    const name = (Object.keys(ErrorCode) as Array<keyof typeof ErrorCode>).find((each) => ErrorCode[each] === code);
    return new (name ? CLASSES[name] : RpcError)(code, message, data);
  }
}

/** -32700: the message is not JSON. */
export class ParseFault extends RpcError { override readonly reason = "parse_fault"; }
/** -32600: the message is not a request, or exceeds the size limit. */
export class InvalidRequest extends RpcError { override readonly reason = "invalid_request"; }
/** -32601: the server has no such method; it may be older than this client. */
export class NoSuchMethod extends RpcError { override readonly reason = "no_such_method"; }
/** -32602: the parameters are invalid; the message says where. */
export class InvalidParams extends RpcError { override readonly reason = "invalid_params"; }
/** -32603: a bug in the server. */
export class InternalFault extends RpcError { override readonly reason = "internal_fault"; }
/** -32000: `initialize` must be the first request, and sent only once. */
export class NotInitialized extends RpcError { override readonly reason = "not_initialized"; }
/** -32001: there is no such session. */
export class NoSuchSession extends RpcError { override readonly reason = "no_such_session"; }
/** -32002: the session was started without a model. */
export class NoModel extends RpcError { override readonly reason = "no_model"; }
/** -32003: a limit is reached: sessions, concurrent requests, tools or processes. */
export class TooMany extends RpcError { override readonly reason = "too_many"; }
/** -32004: the configuration or the requested options cannot be used. */
export class Unusable extends RpcError { override readonly reason = "unusable"; }
/** -32005: there is no such process. */
export class NoSuchProcess extends RpcError { override readonly reason = "no_such_process"; }
/** -32006: the journal cannot be written, so the request is not carried out. */
export class JournalFault extends RpcError { override readonly reason = "journal_fault"; }
/** -32007: another server or program holds the session. */
export class InUse extends RpcError { override readonly reason = "in_use"; }
/** -32008: the policy, a person or the sandbox refused the request; `data.denials` has the reasons. */
export class Refused extends RpcError { override readonly reason = "refused"; }
/** -32008: the request was allowed and failed: a missing file, a hunk that does not match, an unknown program. */
export class CallFailed extends RpcError { override readonly reason = "call_failed"; }
/** -32009: the other side did not answer, or sent an invalid answer. */
export class PeerFault extends RpcError { override readonly reason = "peer_fault"; }
/** -32800: the server cancelled the request. */
export class Cancelled extends RpcError { override readonly reason = "cancelled"; }

// An error code without a class does not compile.
const CLASSES: Record<keyof typeof ErrorCode, typeof RpcError> = {
  Parse: ParseFault, Request: InvalidRequest, Method: NoSuchMethod, Params: InvalidParams, Internal: InternalFault,
  Initialize: NotInitialized, NoSession: NoSuchSession, NoModel, Limit: TooMany, Unusable, NoProcess: NoSuchProcess,
  Journal: JournalFault, InUse, Refused, Peer: PeerFault, Cancelled,
};

/** Kinds of errors (`data.error`) of calls that were refused, not tried. */
const POLICY_ERRORS = new Set(["forbidden", "denied", "blocked", "stopped"]);

/** The server cannot be reached. The message says what to try. */
export class CannotConnect extends ToolgateError {
  override readonly reason: string = "cannot_connect";

  /** `retryable` is true if a retry may help, for example while a server is starting. `reconnect` retries then. */
  constructor(message: string, readonly retryable = false, cause?: unknown) {
    super(message, cause);
  }
}
/** There is no `toolgate` program. The message lists the places that were searched. */
export class ProgramNotFound extends CannotConnect { override readonly reason = "program_not_found"; }
/** The connection ended before the response arrived. The server may or may not have carried out the request. */
export class ConnectionLost extends ToolgateError {
  override readonly reason: string = "connection_lost";

  /** @internal Returns a new error with the same class and message. */
  copy(): ConnectionLost {
    return new (this.constructor as typeof ConnectionLost)(this.message, this.cause);
  }
}
/** The server sent a line that is too long or no message. The connection ends, and is not opened again. */
export class ProtocolError extends ConnectionLost { override readonly reason = "protocol_error"; }
/** @internal The error of a program or a server that is none of Toolgate. */
export function notToolgate(connection: { transport?: { place: string } | undefined }, why: string): ProtocolError {
  return new ProtocolError(`${connection.transport?.place ?? "the program"} is not a Toolgate server: ${why}`);
}
/** The client is closed. */
export class Closed extends ConnectionLost { override readonly reason = "closed"; }
/** The time limit of the request (`timeoutMs`) was reached. The server is told to cancel the request. */
export class TimedOut extends ToolgateError { override readonly reason = "timed_out"; }
/** The signal of the request was aborted; `cause` is its reason. The server is told to cancel the request. */
export class Aborted extends ToolgateError {
  override readonly reason = "aborted";
  /** The name by which programs recognize an aborted operation of Node. */
  override name = "AbortError";
}
/** The server died during a turn, and the next server does not continue that turn. `prompt` may be called again. */
export class TurnLost extends ToolgateError { override readonly reason = "turn_lost"; }
/** The turn ended before the model was done; `turn` is its result. `turn.throwUnlessDone()` throws this error. */
export class TurnNotDone extends ToolgateError {
  override readonly reason = "turn_not_done";

  constructor(readonly turn: SessionPromptResult) {
    super(`the turn is not done, it ended as \`${turn.ended}\`: ${turn.detail}`);
  }
}
/** The journal ends before an event that was already received: a power failure, or a cursor of another session. */
export class JournalBehind extends ToolgateError { override readonly reason = "journal_behind"; }
/** The reader is further behind than the client keeps events. `attach` of another client reads them again. */
export class EventsDropped extends ToolgateError { override readonly reason = "events_dropped"; }

/** @internal A `TypeError` about an argument, which gets the stack of the caller. */
export class ArgumentError extends TypeError { override name = "TypeError"; }

/** Thrown by a tool to fail its call: the model reads the message, and nothing is printed. */
export class ToolFailure extends Error { override name = "ToolFailure"; }

/**
 * Reports a problem that no caller would see, as a process warning of Node (`process.on("warning")`). Node prints one
 * line; with `--trace-warnings` it prints the stack of the cause.
 */
export function warn(message: string, cause?: unknown): void {
  const warning = new Error(message, cause === undefined ? undefined : { cause });
  warning.name = "ToolgateWarning";
  if (cause instanceof Error && cause.stack !== undefined) warning.stack = `${warning}\n${cause.stack}`;
  process.emitWarning(warning);
}

/** Returns an error in one line, with the place where it was thrown. */
export function brief(error: unknown): string {
  const stack = error instanceof Error ? `${error.stack}` : "";
  const place = /^ +at .*?(file:\/\/[^)]+|\/[^)]+)\)?$/m.exec(stack)?.[1];
  return `${String(error).split("\n")[0]}${place === undefined ? "" : ` (${place})`}`;
}
