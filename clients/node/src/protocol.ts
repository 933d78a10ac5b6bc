// Types of the protocol. Generated from docs/openrpc.json by scripts/generate-protocol.mjs: do not edit.

/** The protocol version. */
export const PROTOCOL = 1;

/** Error codes of the server. */
export const ErrorCode = {
  /** The request was cancelled. */
  Cancelled: -32800,
  /** Another server or program has the session. */
  InUse: -32007,
  /** `initialize` has to be called first, and once. */
  Initialize: -32000,
  /** A bug of the server's. */
  Internal: -32603,
  /** The journal cannot be written, so nothing is done. */
  Journal: -32006,
  /** Too many of something: sessions, requests under way, tools. */
  Limit: -32003,
  /** There is no such method; `data.nearest` has names that were perhaps meant. */
  Method: -32601,
  /** The session was started without a model. */
  NoModel: -32002,
  /** There is no such process. */
  NoProcess: -32005,
  /** There is no such session. */
  NoSession: -32001,
  /** The parameters do not fit; the message says where. */
  Params: -32602,
  /** The message is not JSON. */
  Parse: -32700,
  /** The other side did not answer, or not as it should. */
  Peer: -32009,
  /** The policy, a person or the machine refused it; `data` is the answer of the call. */
  Refused: -32008,
  /** The message is not a JSON-RPC request, or longer than a message may be. */
  Request: -32600,
  /** The configuration, or what was asked for, cannot be used. */
  Unusable: -32004,
} as const;

/** Requests an approval. Every client that follows the session and has the `approvals` capability is asked. The first answer counts, and the other requests are cancelled with `$/cancel`. */
export interface ApprovalRequestParams {
  /** The path of the subagent that asks; empty for the session's own agent. */
  agents?: Array<string>;
  /** The intended action and the reasons for the question, as `toolgate.question` in docs/pipe.md: `call_id`, `tool`, `why`, `command`, `diff`, `choices` and more. */
  question: Record<string, unknown>;
  /** The session id. */
  session_id: string;
}

/** The decision on an approval request. */
export interface ApprovalRequestResult {
  /** One of the question's `choices`: `approved`, `approved_for_session`, `approved_with_rule`, `denied` or `abort`. */
  decision: string;
  /** A note for the model, with a denial. */
  note?: string | null;
}

/** Cancels a request. */
export interface CancelParams {
  /** The id of the request, as its sender chose it. */
  id: unknown;
}

/** The requests that a client answers. Client tools need no capability: their client always receives `tool/invoke`. */
export interface ClientCapabilities {
  /** The client answers `approval/request`. If no client does, calls that need an approval are refused. */
  approvals?: boolean;
  /** The client answers `user/ask`. */
  questions?: boolean;
}

/** A content item for a model. */
export type ContentItem =
  /** Text. */
  | {
    /** The text. */
    text: string;
    type: "text";
  }
  /** An image. */
  | {
    /** Its bytes, in base64. */
    data: string;
    /** `image/png`, `image/jpeg`, `image/gif` or `image/webp`. */
    mime_type: string;
    type: "image";
  }
  /** An image as a data URL. */
  | {
    /** `data:image/png;base64,…`. */
    image_url: string;
    type: "input_image";
  };

/** A refusal. */
export interface DenialInfo {
  /** The reason, e.g. `outside`, `deny_read`, `may_not_write`, `may_not_connect`, `by_rule` or `unasked`. */
  kind: string;
  /** The refusal in one sentence. */
  message: string;
}

/** A tool that a client provides. The client receives `tool/invoke` for each call. */
export interface DynamicTool {
  /** The description for the model. */
  description: string;
  /** The JSON Schema of the arguments, an object. It is simplified for the model, and arguments are validated against it. */
  input_schema: unknown;
  /** The tool name: letters, digits, `_` and `-`, at most 128 characters, not starting with `mcp__`. */
  name: string;
  /** True if the tool changes nothing. A call of a tool that may change something runs alone. */
  read_only?: boolean;
  /** The time limit of the client in milliseconds (default 60000, at most 600000). */
  timeout_ms?: number | null;
}

/** An empty result. */
export interface EmptyResult {}

/** A directory entry. */
export interface FsEntry {
  /** The type of the entry. */
  kind: FsEntryKind;
  /** The path, relative to the listed directory. */
  path: string;
  /** The size in bytes, for a file. */
  size?: number | null;
}

/** The type of a directory entry. */
export type FsEntryKind =
  /** A file. */
  | "file"
  /** A directory. */
  | "directory"
  /** A symlink. */
  | "link"
  /** Any other type. */
  | "other";

/** Lists a directory, within the permissions of the session. */
export interface FsListParams {
  /** Maximum depth (default 1). */
  depth?: number | null;
  /** Maximum number of entries (default 1000, at most 10000). */
  limit?: number | null;
  /** The directory; by default the session's working directory. */
  path?: string;
  /** The session id. */
  session_id: string;
}

/** The entries of a directory. */
export interface FsListResult {
  /** True if the list is complete. */
  complete: boolean;
  /** The entries, sorted by path. */
  entries: Array<FsEntry>;
}

/** Reads a file, within the permissions of the session. */
export interface FsReadParams {
  /** Maximum bytes to read (default 1048576, at most 8388608). */
  length?: number | null;
  /** The first byte to read. */
  offset?: number;
  /** The file path, relative to the session's working directory. */
  path: string;
  /** The session id. */
  session_id: string;
}

/** File content: text if all bytes read are UTF-8. */
export interface FsReadResult {
  /** The bytes in base64, if they are not UTF-8. */
  base64?: string | null;
  /** The offset of the next read; absent at the end of the file. */
  next?: number | null;
  /** The file size in bytes. */
  size: number;
  /** The text. */
  text?: string | null;
}

/** A matching line. */
export interface FsSearchMatch {
  /** The line number, from 1. */
  line: number;
  /** The file path. */
  path: string;
  /** The text of the line. */
  text: string;
}

/** Searches files, like the tool `grep_files`. */
export interface FsSearchParams {
  /** Searches only files whose names match, e.g. `*.rs`. */
  glob?: string | null;
  /** Ignores case. */
  ignore_case?: boolean;
  /** Maximum number of lines (default 100, at most 2000). */
  limit?: number | null;
  /** The file or directory to search; by default the session's working directory. */
  path?: string | null;
  /** A regular expression. */
  pattern: string;
  /** The session id. */
  session_id: string;
}

/** The matching lines. */
export interface FsSearchResult {
  /** True if the list is complete. */
  complete: boolean;
  /** The matches, sorted by file and line. */
  hits: Array<FsSearchMatch>;
}

/** Writes a whole file atomically, within the permissions of the session. */
export interface FsWriteParams {
  /** The content as bytes, in base64. */
  base64?: string | null;
  /** Fails if the file exists. */
  new?: boolean;
  /** The file path, relative to the session's working directory. Missing directories are created. */
  path: string;
  /** The session id. */
  session_id: string;
  /** The content as text. */
  text?: string | null;
}

/** The result of a write. */
export interface FsWriteResult {
  /** True if the file did not exist before. */
  created: boolean;
  /** The file size in bytes. */
  size: number;
}

/** Introduces the client. It must be the first request. */
export interface InitializeParams {
  /** The requests that the client answers. */
  capabilities?: ClientCapabilities;
  /** Name and version of the client. */
  client: ProgramIdentity;
  /** The protocol version of the client: 1. */
  protocol: number;
}

/** The server's introduction. */
export interface InitializeResult {
  /** The limits of the server. */
  limits: ServerLimits;
  /** The protocol version. */
  protocol: number;
  /** Name and version of the server. */
  server: ProgramIdentity;
}

/** The API of a model. */
export type ModelApi =
  /** OpenAI Responses. */
  | "responses"
  /** OpenAI Chat Completions. */
  | "chat"
  /** Anthropic Messages. */
  | "anthropic";

/** The model of a session. API keys are read from the server's environment only. */
export interface ModelSelection {
  /** The base URL of the API, e.g. `http://127.0.0.1:8080/v1`; by default the provider's. */
  base_url?: string | null;
  /** The context length in tokens (default 200000). */
  context?: number | null;
  /** Maximum number of input and output tokens of all requests, until the server closes the session (default: no limit). */
  max_tokens?: number | null;
  /** Maximum number of model requests in a turn (default 500). */
  max_turns?: number | null;
  /** The provider's model name; by default the one in the configuration. */
  name?: string | null;
  /** A script file that replaces the model, one JSON turn a line (docs/run.md). */
  script?: string | null;
  /** The API; by default derived from the name. */
  wire?: ModelApi | null;
}

/** Applies a patch in any supported format, completely or not at all (docs/edits.md). */
export interface PatchApplyParams {
  /** Idempotency key, like the `key` of `tool/call`. */
  key?: string | null;
  /** The patch. */
  patch: string;
  /** The session id. */
  session_id: string;
}

/** The result of a patch. */
export interface PatchApplyResult {
  /** The changed files. */
  changes: Array<PatchChange>;
  /** True if this is the answer to an earlier call with the same key. */
  repeated?: boolean;
  /** The changes as text for a model. */
  text: string;
}

/** A changed file. */
export interface PatchChange {
  /** The old path of a renamed file. */
  from?: string | null;
  /** `A`dded, `M`odified, `D`eleted or `R`enamed. */
  kind: string;
  /** The file path. */
  path: string;
}

/** Explains the policy decision on a call without running it. */
export interface PolicyExplainParams {
  /** Its arguments. */
  arguments?: Record<string, unknown>;
  /** A shell script to explain instead of a tool call. */
  command?: string | null;
  /** The session id. */
  session_id: string;
  /** The tool name; by default the tool that runs `command`. */
  tool?: string | null;
}

/** The policy decision. */
export interface PolicyExplainResult {
  /** The output of `toolgate policy explain --output json`: `verdict`, `why`, `parts` and more. */
  explanation: unknown;
}

/** A chunk of output: text if all of it is UTF-8. */
export interface ProcessOutputChunk {
  /** The bytes in base64, if they are not UTF-8. */
  base64?: string | null;
  /** `stdout`, `stderr` or `terminal`. */
  stream: string;
  /** The text. */
  text?: string | null;
}

/** Reads the output of a process. No output is lost: a process that writes faster than the client reads is blocked. */
export interface ProcessReadParams {
  /** The offset in the whole output: 0 at first, then `next` of the last read. Output before it is discarded. */
  from?: number;
  /** Maximum bytes to read (default 65536, at most 1048576). */
  max_bytes?: number | null;
  /** The process id. */
  process_id: number;
  /** The session id. */
  session_id: string;
  /** Milliseconds to wait for output (default 0, at most 30000). */
  wait_ms?: number;
}

/** The output of a process. */
export interface ProcessReadResult {
  /** The exit status as in a shell: 128 plus the signal number for a process that a signal killed. */
  exit_code?: number | null;
  /** The offset of the next read. */
  next: number;
  /** Output chunks in the order in which they were read. */
  pieces: Array<ProcessOutputChunk>;
  /** The state of the process. */
  state: ProcessState;
}

/** Identifies a process. */
export interface ProcessRef {
  /** The process id. */
  process_id: number;
  /** The session id. */
  session_id: string;
}

/** Resizes the terminal of a process. */
export interface ProcessResizeParams {
  /** The process id. */
  process_id: number;
  /** The session id. */
  session_id: string;
  /** The new size. */
  size: ProcessTerminalSize;
}

/** Sends a signal to a process group. */
export interface ProcessSignalParams {
  /** The process id. */
  process_id: number;
  /** The session id. */
  session_id: string;
  /** `INT`, `TERM`, `HUP`, `QUIT`, `USR1`, `USR2`, `STOP` or `CONT`. */
  signal: string;
}

/** Starts a process, with the same policy and sandbox as a command of the model. */
export interface ProcessStartParams {
  /** A program and its arguments instead of a script, e.g. `["cargo", "test"]`. */
  argv?: Array<string> | null;
  /** A script for the user's shell, e.g. `cargo test | tail`. */
  command?: string | null;
  /** The working directory; by default the session's. */
  cwd?: string | null;
  /** The session id. */
  session_id: string;
  /** Keeps standard input open for `process/write`, without a terminal. */
  stdin?: boolean;
  /** Attaches a terminal of this size. */
  tty?: ProcessTerminalSize | null;
}

/** The result of starting a process. */
export interface ProcessStartResult {
  /** The process id within the session. */
  process_id: number;
}

/** The state of a process. */
export type ProcessState =
  /** The process, or a descendant of it, is running. */
  | "running"
  /** The process has exited, and all output was read. */
  | "exited"
  /** The process was killed together with its supervisor. */
  | "lost";

/** The size of a terminal. */
export interface ProcessTerminalSize {
  /** The number of columns. */
  cols: number;
  /** The number of rows. */
  rows: number;
}

/** Writes to the standard input of a process. */
export interface ProcessWriteParams {
  /** Closes standard input afterwards. */
  close?: boolean;
  /** The process id. */
  process_id: number;
  /** The session id. */
  session_id: string;
  /** The text to write. */
  text?: string;
}

/** Name and version of a program. */
export interface ProgramIdentity {
  /** The name. */
  name: string;
  /** The version. */
  version?: string | null;
}

/** The outcome of a turn. */
export type PromptOutcome =
  /** The model finished. */
  | "done"
  /** The provider cut the response short. */
  | "cut_short"
  /** The turn was interrupted. */
  | "interrupted"
  /** The turn reached its limit of model requests. */
  | "max_turns"
  /** The session used up its tokens. */
  | "out_of_budget"
  /** The turn failed. */
  | "failed"
  /** The prompt was added to a running turn. */
  | "steered";

/** The limits of the server. */
export interface ServerLimits {
  /** Maximum bytes of a message. */
  message_bytes: number;
  /** Maximum number of processes in a session. */
  processes: number;
  /** Maximum concurrent requests of a connection. */
  requests: number;
  /** Maximum number of sessions. */
  sessions: number;
  /** Maximum number of client tools in a session. */
  tools: number;
}

/** Follows a session: the client receives all events after `cursor`, and then new ones. A session that the server does not run is resumed from its journal. Calls that were running when its server died are answered `interrupted; effects unknown`, and not run again. */
export interface SessionAttachParams {
  /** The last event that the client has received; 0 for none. */
  cursor?: number;
  /** The session id. */
  session_id: string;
  /** The start parameters, for a session that the server does not run. */
  start?: SessionStartParams | null;
  /** Tools that this client provides from now on. */
  tools?: Array<DynamicTool>;
}

/** A followed session. */
export interface SessionAttachResult {
  /** The approval policy. */
  approval: string;
  /** True if a turn is running. */
  busy: boolean;
  /** The number of the last event. */
  cursor: number;
  /** The working directory. */
  cwd: string;
  /** The path of its journal. */
  journal: string;
  /** The model name, if the session has a model. */
  model?: string | null;
  /** True if the session was resumed from its journal. */
  resumed: boolean;
  /** The sandbox mode. */
  sandbox: string;
  /** The session id. */
  session_id: string;
  /** The names of the current tools. */
  tools: Array<string>;
}

/** The progress of an action that becomes an event when it ends. A client that reads too slowly does not receive all deltas. */
export type SessionDeltaParams = {
  /** The session id. */
  session_id: string;
} & (
    /** A delta of the model's text. */
    | {
      kind: "text";
      /** The text. */
      text: string;
    }
    /** A delta of the model's reasoning. */
    | {
      kind: "thought";
      /** The text. */
      text: string;
    }
    /** A delta of a command's output. */
    | {
      /** The call id. */
      call_id: string;
      kind: "output";
      /** `stdout` or `stderr`. */
      stream: string;
      /** The text. */
      text: string;
    }
    /** A call is about to run. */
    | {
      /** The call id. */
      call_id: string;
      kind: "running";
    }
    /** A request is sent to the model. */
    | {
      /** The size of the request in bytes. */
      bytes: number;
      kind: "request";
      /** The number of the request in the turn, from 1. */
      number: number;
    }
    /** A request failed and is retried; discard the text of that response. */
    | {
      kind: "retry";
      /** The delay before the retry in milliseconds. */
      pause_ms: number;
      /** The reason. */
      why: string;
    }
  );

/** A session that was started or resumed. */
export interface SessionDetails {
  /** The approval policy. */
  approval: string;
  /** The working directory. */
  cwd: string;
  /** The path of its journal. */
  journal: string;
  /** The model name, if the session has a model. */
  model?: string | null;
  /** The sandbox mode. */
  sandbox: string;
  /** The session id. */
  session_id: string;
  /** The names of the current tools. */
  tools: Array<string>;
}

/** An event of a followed session. Each connection receives every event once, in order. */
export interface SessionEventParams {
  /** The event number, from 1. `session/attach` continues after it. */
  cursor: number;
  /** The journal line (docs/journal.md); `kind` is the event type. */
  event: Record<string, unknown>;
  /** The session id. */
  session_id: string;
}

/** The summary of a session. */
export interface SessionListEntry {
  /** True if a turn is running. */
  busy: boolean;
  /** The number of tool calls. */
  calls: number;
  /** The working directory. */
  cwd: string;
  /** The start of the first prompt. */
  first_prompt: string;
  /** The time of the last journal entry. */
  last: string;
  /** True if this server runs the session. */
  live: boolean;
  /** The number of prompts. */
  prompts: number;
  /** The session id. */
  session_id: string;
  /** The start time. */
  started: string;
}

/** Lists sessions, newest first. */
export interface SessionListParams {
  /** Maximum number of sessions (default 100, at most 1000). */
  limit?: number | null;
  /** Only sessions that the server runs. */
  live?: boolean;
}

/** A list of sessions. */
export interface SessionListResult {
  /** The sessions, newest first. */
  sessions: Array<SessionListEntry>;
}

/** Sends a prompt to the model. The response comes when the turn ends. If a turn is already running, the prompt is added to it, and the response comes at once. */
export interface SessionPromptParams {
  /** Images of the prompt. */
  images?: Array<ContentItem>;
  /** The session id. */
  session_id: string;
  /** The prompt. */
  text: string;
}

/** The result of a prompt. */
export interface SessionPromptResult {
  /** Details of an unusual outcome. */
  detail?: string | null;
  /** The outcome. */
  ended: PromptOutcome;
  /** The last text of the model. */
  text: string;
  /** The turn id. */
  turn_id: string;
}

/** Identifies a session. */
export interface SessionRef {
  /** The session id. */
  session_id: string;
}

/** Starts a session. Absent members default to the user's configuration. */
export interface SessionStartParams {
  /** Lets the model start subagents with `spawn_agent` and its companion tools. */
  agents?: boolean;
  /** The approval policy: `untrusted`, `on-failure`, `on-request`, `never`, `auto` or `disabled`. */
  approval?: string | null;
  /** The working directory; by default the server's. */
  cwd?: string | null;
  /** Instructions for the model, in addition to Toolgate's and the project's. */
  instructions?: string | null;
  /** MCP servers in addition to those of the configuration, each like `[mcp_servers.NAME]` there (docs/mcp.md). */
  mcp_servers?: Record<string, unknown>;
  /** The model; a session without one can only call tools. */
  model?: ModelSelection | null;
  /** The built-in tools to enable; all by default. */
  only_tools?: Array<string> | null;
  /** The sandbox mode of commands: `read-only`, `workspace-write`, `external` or `danger-full-access`. */
  sandbox?: string | null;
  /** Tools that this client provides. */
  tools?: Array<DynamicTool>;
}

/** Calls a tool without a model. */
export interface ToolCallParams {
  /** Its arguments. */
  arguments?: Record<string, unknown>;
  /** The input text of a freeform tool, such as `apply_patch`. */
  input?: string | null;
  /** Idempotency key: a call with a known key is not run again and gets the first answer, even after a restart of the server. */
  key?: string | null;
  /** The session id. */
  session_id: string;
  /** The tool name. */
  tool: string;
}

/** The result of a tool call. */
export interface ToolCallResult {
  /** The call id in events. */
  call_id: string;
  /** The answer as a model reads it. */
  content_items: Array<ContentItem>;
  /** Refusals: of the call itself, or of accesses by its command. Missing if there are none. */
  denials?: Array<DenialInfo>;
  /** The duration in milliseconds. */
  elapsed_ms: number;
  /** The kind of error, if the call failed. */
  error?: string | null;
  /** The file with the complete output, if the answer was truncated. */
  kept?: string | null;
  /** True if this is the answer to an earlier call with the same key. */
  repeated?: boolean;
  /** The answer as structured data, if the tool provides it. */
  structured?: unknown;
  /** True if the call succeeded. */
  success: boolean;
}

/** The description of a tool. */
export interface ToolDescription {
  /** The description. */
  description: string;
  /** The JSON Schema of the arguments. A tool without one takes text, its `input`. */
  input_schema?: unknown;
  /** The tool name. */
  name: string;
}

/** Calls a tool that the client registered. */
export interface ToolInvokeParams {
  /** Arguments that match the tool's schema. */
  arguments: unknown;
  /** The call id. */
  call_id: string;
  /** The session id. */
  session_id: string;
  /** The tool name. */
  tool: string;
  /** The turn of the call; empty if a client made the call. */
  turn_id: string;
}

/** The result of a client tool. */
export interface ToolInvokeResult {
  /** The content for the model. */
  content_items: Array<ContentItem>;
  /** True if the call succeeded. */
  success: boolean;
}

/** The tools of a session. */
export interface ToolListResult {
  /** The tools, sorted by name. */
  tools: Array<ToolDescription>;
}

/** Registers tools in a running session. A tool of the same name that any client registered is replaced. */
export interface ToolRegisterParams {
  /** The session id. */
  session_id: string;
  /** The tools. */
  tools: Array<DynamicTool>;
}

/** The client tools of a session. */
export interface ToolRegisterResult {
  /** The tool names. */
  tools: Array<string>;
}

/** Unregisters tools. */
export interface ToolUnregisterParams {
  /** The tool names. */
  names: Array<string>;
  /** The session id. */
  session_id: string;
}

/** A suggested answer. */
export interface UserAskOption {
  /** The consequence of choosing it. */
  description: string;
  /** The answer. */
  label: string;
}

/** A question of the model to the user. */
export interface UserAskParams {
  /** Suggested answers; other answers are possible too. */
  options: Array<UserAskOption>;
  /** The question. */
  question: string;
  /** The session id. */
  session_id: string;
}

/** The user's answer. */
export interface UserAskResult {
  /** The answer; absent if the user declines to answer. */
  answer?: string | null;
}

/** Requests that the server answers. */
export interface ServerRequests {
  /** Introduces the client; it is the first request. */
  "initialize": { params: InitializeParams; result: InitializeResult };
  /** Starts a session, which the client then follows. */
  "session/start": { params: SessionStartParams; result: SessionDetails };
  /** Follows a session from an event on; resumes it from its journal if no server has it. */
  "session/attach": { params: SessionAttachParams; result: SessionAttachResult };
  /** Stops following a session; the session continues. */
  "session/detach": { params: SessionRef; result: EmptyResult };
  /** Sends a prompt to the model, and answers when the turn is over. */
  "session/prompt": { params: SessionPromptParams; result: SessionPromptResult };
  /** Stops the turn: its calls are answered as aborted. */
  "session/interrupt": { params: SessionRef; result: EmptyResult };
  /** Lists the sessions, the newest first. */
  "session/list": { params: SessionListParams; result: SessionListResult };
  /** Ends a session, its processes and its agents; its journal stays. */
  "session/close": { params: SessionRef; result: EmptyResult };
  /** Lists the tools of a session. */
  "tool/list": { params: SessionRef; result: ToolListResult };
  /** Calls a tool without a model. */
  "tool/call": { params: ToolCallParams; result: ToolCallResult };
  /** Registers tools of the client in a session. */
  "tool/register": { params: ToolRegisterParams; result: ToolRegisterResult };
  /** Removes tools of clients from a session. */
  "tool/unregister": { params: ToolUnregisterParams; result: ToolRegisterResult };
  /** Starts a process, with the policy and sandbox of the model's commands. */
  "process/start": { params: ProcessStartParams; result: ProcessStartResult };
  /** Reads the output of a process; nothing is lost. */
  "process/read": { params: ProcessReadParams; result: ProcessReadResult };
  /** Writes input to a process. */
  "process/write": { params: ProcessWriteParams; result: EmptyResult };
  /** Changes the size of a process's terminal. */
  "process/resize": { params: ProcessResizeParams; result: EmptyResult };
  /** Sends a signal to a process and its group. */
  "process/signal": { params: ProcessSignalParams; result: EmptyResult };
  /** Ends a process and all its descendants. */
  "process/kill": { params: ProcessRef; result: EmptyResult };
  /** Reads a file. */
  "fs/read": { params: FsReadParams; result: FsReadResult };
  /** Writes a whole file atomically. */
  "fs/write": { params: FsWriteParams; result: FsWriteResult };
  /** Lists a directory. */
  "fs/list": { params: FsListParams; result: FsListResult };
  /** Searches files for a regular expression. */
  "fs/search": { params: FsSearchParams; result: FsSearchResult };
  /** Applies a patch, all or nothing. */
  "patch/apply": { params: PatchApplyParams; result: PatchApplyResult };
  /** Explains what would be decided about a call. */
  "policy/explain": { params: PolicyExplainParams; result: PolicyExplainResult };
}

/** Requests that a client answers. */
export interface ClientRequests {
  /** Requests an approval. */
  "approval/request": { params: ApprovalRequestParams; result: ApprovalRequestResult };
  /** Passes a question of the model to the user. */
  "user/ask": { params: UserAskParams; result: UserAskResult };
  /** Calls a tool of the client. */
  "tool/invoke": { params: ToolInvokeParams; result: ToolInvokeResult };
}

/** Types of the params of each request that the server answers, for checks at run time. */
export const PARAM_TYPES: { readonly [M in keyof ServerRequests]: Readonly<Record<string, string>> } = {
  "initialize": { capabilities: "object", client: "object", protocol: "number" },
  "session/start": { agents: "boolean", approval: "string|null", cwd: "string|null", instructions: "string|null", mcp_servers: "object", model: "object|null", only_tools: "array|null", sandbox: "string|null", tools: "array" },
  "session/attach": { cursor: "number", session_id: "string", start: "object|null", tools: "array" },
  "session/detach": { session_id: "string" },
  "session/prompt": { images: "array", session_id: "string", text: "string" },
  "session/interrupt": { session_id: "string" },
  "session/list": { limit: "number|null", live: "boolean" },
  "session/close": { session_id: "string" },
  "tool/list": { session_id: "string" },
  "tool/call": { arguments: "object", input: "string|null", key: "string|null", session_id: "string", tool: "string" },
  "tool/register": { session_id: "string", tools: "array" },
  "tool/unregister": { names: "array", session_id: "string" },
  "process/start": { argv: "array|null", command: "string|null", cwd: "string|null", session_id: "string", stdin: "boolean", tty: "object|null" },
  "process/read": { from: "number", max_bytes: "number|null", process_id: "number", session_id: "string", wait_ms: "number" },
  "process/write": { close: "boolean", process_id: "number", session_id: "string", text: "string" },
  "process/resize": { process_id: "number", session_id: "string", size: "object" },
  "process/signal": { process_id: "number", session_id: "string", signal: "string" },
  "process/kill": { process_id: "number", session_id: "string" },
  "fs/read": { length: "number|null", offset: "number", path: "string", session_id: "string" },
  "fs/write": { base64: "string|null", new: "boolean", path: "string", session_id: "string", text: "string|null" },
  "fs/list": { depth: "number|null", limit: "number|null", path: "string", session_id: "string" },
  "fs/search": { glob: "string|null", ignore_case: "boolean", limit: "number|null", path: "string|null", pattern: "string", session_id: "string" },
  "patch/apply": { key: "string|null", patch: "string", session_id: "string" },
  "policy/explain": { arguments: "object", command: "string|null", session_id: "string", tool: "string|null" },
};

/** Notifications, which have no answer. */
export interface Notifications {
  /** An event of a followed session. */
  "session/event": SessionEventParams;
  /** Partial output; the complete event follows. */
  "session/delta": SessionDeltaParams;
  /** The requester cancels a request. */
  "$/cancel": CancelParams;
}
