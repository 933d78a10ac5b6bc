// Tools of this program: their definition, their calls, and the conversion of their results for the model.

import { PeerFault, warn } from "./errors.js";
import { ErrorCode } from "./protocol.js";
import type { ContentItem, DynamicTool, ToolInvokeParams, ToolInvokeResult } from "./protocol.js";

/** Call of a tool. `signal` aborts when the call is cancelled or the connection ends. */
export interface Invocation extends ToolInvokeParams {
  signal: AbortSignal;
}

/** JSON Schema of the arguments of a tool, an object. */
export type ToolSchema = { readonly type: "object"; readonly [keyword: string]: unknown };

/** Function that a model or `session.call` calls by name. */
export interface Tool<Args = any> {
  /** Letters, digits, `_` and `-`, at most 128 characters. */
  name: string;
  /** Description for the model. */
  description: string;
  /** JSON Schema of the arguments. The server validates them before it calls the tool. */
  schema: ToolSchema;
  /** True if the tool changes nothing, so that it may run in parallel with others. */
  readOnly?: boolean | undefined;
  /** Time limit in milliseconds (60000, at most 600000). */
  timeoutMs?: number | undefined;
  /** Runs the tool. Returns text, `image(…)`, a list of them, or any JSON value. The model reads an error as text. */
  run(args: Args, call: Invocation): unknown;
}

/** Defines a tool. The type of the arguments follows from the schema. */
export function tool<const S extends ToolSchema>(
  definition: Omit<Tool<FromSchema<S>>, "schema"> & { schema: S },
): Tool {
  return definition;
}

/** Image for a model, as the result of a tool or in a prompt. */
export function image(data: Uint8Array, mimeType = "image/png"): ContentItem {
  return { type: "image", mime_type: mimeType, data: Buffer.from(data).toString("base64") };
}

/** Type of the values that a JSON Schema describes; `unknown` for keywords that it does not interpret. */
export type FromSchema<S> = S extends { enum: readonly (infer Value)[] }
  ? Value
  : S extends { const: infer Value }
    ? Value
    : S extends { type: keyof Simple }
      ? Simple[S["type"]]
      : S extends { type: "array"; items: infer Items }
        ? FromSchema<Items>[]
        : S extends { type: "object"; properties: infer P }
          ? { [K in keyof P as K extends RequiredOf<S> ? K : never]: FromSchema<P[K]> } & {
              [K in keyof P as K extends RequiredOf<S> ? never : K]?: FromSchema<P[K]>;
            }
          : unknown;
type Simple = { string: string; number: number; integer: number; boolean: boolean; null: null };
type RequiredOf<S> = S extends { required: readonly (infer Name)[] } ? Name : never;

/** Returns the description that the server gets. Throws `TypeError` for a tool without a function. */
export function describe({ name, description, schema, readOnly, timeoutMs, run }: Tool): DynamicTool {
  if (typeof run !== "function") throw new TypeError(`the tool \`${name}\` has no function \`run\``);
  const limit = timeoutMs === undefined ? {} : { timeout_ms: timeoutMs };
  return { name, description, input_schema: schema, read_only: readOnly ?? false, ...limit };
}

/** Answers a call. An error fails the call: the model reads its message, and programs get the kind `io`. */
export async function invoke(tool: Tool | undefined, call: Invocation): Promise<ToolInvokeResult> {
  if (!tool) return { content_items: content(`the client no longer has a tool \`${call.tool}\``), success: false };
  try {
    return { content_items: content(await tool.run(call.arguments, call)), success: true };
  } catch (error) {
    warn(`the tool \`${call.tool}\` threw an error; the model gets its message`, error);
    throw new PeerFault(ErrorCode.Peer, String(error));
  }
}

/** Converts the result of a tool: text and content items unchanged, everything else as JSON. */
function content(result: unknown): ContentItem[] {
  if (Array.isArray(result) && result.some(isItem)) return result.flatMap(content);
  if (isItem(result)) return [result];
  if (result === undefined || result === null) return [{ type: "text", text: "done" }];
  const text = typeof result === "string" ? result : JSON.stringify(result);
  if (text === undefined) throw new TypeError(`the result, a ${typeof result}, has no JSON form`);
  return [{ type: "text", text }];
}

function isItem(value: any): value is ContentItem {
  const type = value?.type;
  if (type === "text") return typeof value.text === "string";
  if (type === "image") return typeof value.data === "string" && typeof value.mime_type === "string";
  return type === "input_image" && typeof value.image_url === "string";
}
