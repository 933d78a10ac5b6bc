// Generates src/protocol.ts from docs/openrpc.json: `node scripts/generate-protocol.mjs`.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

const SOURCE = new URL("../../../docs/openrpc.json", import.meta.url);
const TARGET = new URL("../src/protocol.ts", import.meta.url);

/** Returns the TypeScript source for an OpenRPC description. */
export function generate(description) {
  const { schemas, errors } = description.components;
  const types = Object.entries(schemas).map(([name, schema]) => declaration(name, schema));
  const answeredBy = (side) => description.methods.filter((method) => method["x-answered-by"] === side);
  const request = (method) =>
    `{ params: ${paramsType(method, schemas)}; result: ${typeOf(method.result.schema, "  ")} }`;
  const codes = Object.entries(errors).map(
    ([name, error]) => `${comment(error.message, "  ")}  ${name}: ${error.code},\n`,
  );
  return [
    "// Types of the protocol. Generated from docs/openrpc.json by scripts/generate-protocol.mjs: do not edit.\n",
    `/** The protocol version. */\nexport const PROTOCOL = ${Number(description.info.version)};\n`,
    `/** Error codes of the server. */\nexport const ErrorCode = {\n${codes.join("")}} as const;\n`,
    ...types,
    methodMap("ServerRequests", "Requests that the server answers.", answeredBy("server"), request),
    methodMap("ClientRequests", "Requests that a client answers.", answeredBy("client"), request),
    paramTypes(answeredBy("server"), schemas),
    methodMap("Notifications", "Notifications, which have no answer.", answeredBy("none"), (each) =>
      paramsType(each, schemas),
    ),
  ].join("\n");
}

function methodMap(name, summary, methods, type) {
  const members = methods.map((method) => `${comment(method.summary, "  ")}  "${method.name}": ${type(method)};\n`);
  return `${comment(summary, "")}export interface ${name} {\n${members.join("")}}\n`;
}

/** Returns the source of a table with the JSON types of the params of each method. */
function paramTypes(methods, schemas) {
  const rows = methods.map((method) => {
    const types = method.params.map(({ name, schema }) => `${name}: "${[...jsonTypes(schema, schemas)].join("|")}"`);
    return `  "${method.name}": { ${types.join(", ")} },\n`;
  });
  const head = comment("Types of the params of each request that the server answers, for checks at run time.", "");
  const type = "{ readonly [M in keyof ServerRequests]: Readonly<Record<string, string>> }";
  return `${head}export const PARAM_TYPES: ${type} = {\n${rows.join("")}};\n`;
}

/** Returns the JSON types that a schema accepts. */
function jsonTypes(schema, schemas) {
  if (schema.$ref) return jsonTypes(schemas[schema.$ref.split("/").at(-1)], schemas);
  const branches = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  if (branches) return new Set(branches.flatMap((each) => [...jsonTypes(each, schemas)]));
  const types = "const" in schema ? [typeof schema.const] : [schema.type ?? "any"].flat();
  return new Set(types.map((type) => (type === "integer" ? "number" : type)));
}

/** Returns the name of the schema that has the parameters of a method. */
function paramsType(method, schemas) {
  const expected = `${method.name.replace(/(?:^|\/)(\w)|[^\w]/g, (_, letter) => letter?.toUpperCase() ?? "")}Params`;
  if (schemas[expected]) return expected;
  const properties = Object.fromEntries(method.params.map((param) => [param.name, param.schema]));
  const found = Object.entries(schemas).find(
    ([, schema]) => !schema.oneOf && isDeepStrictEqual(schema.properties, properties),
  );
  if (!found) throw new Error(`no schema has the parameters of \`${method.name}\``);
  return found[0];
}

function declaration(name, schema) {
  const head = comment(schema.description, "");
  if (schema.oneOf) return `${head}export type ${name} =${schema.properties ? " " : ""}${typeOf(schema, "")};\n`;
  return `${head}export interface ${name} ${objectType(schema, "")}\n`;
}

/** Returns the type of a schema. Throws for a type that it does not know. */
function typeOf(schema, indent) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.oneOf) {
    const inner = schema.properties ? "    " : "  ";
    const union = schema.oneOf
      .map((each) => `\n${comment(each.description, inner)}${inner}| ${typeOf(each, inner)}`)
      .join("");
    return schema.properties ? `${objectType(schema, indent)} & (${union}\n${indent}  )` : union;
  }
  if (schema.anyOf) return schema.anyOf.map((each) => typeOf(each, indent)).join(" | ");
  if (schema.allOf?.length === 1) return typeOf(schema.allOf[0], indent);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(" | ");
  switch (schema.type) {
    case undefined:
      return "unknown";
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `Array<${typeOf(schema.items, indent)}>`;
    case "object":
      return schema.properties ? objectType(schema, indent) : "Record<string, unknown>";
    default:
      throw new Error(`unknown type in a schema: ${JSON.stringify(schema)}`);
  }
}

function objectType(schema, indent) {
  const inner = `${indent}  `;
  const required = new Set(schema.required);
  const members = Object.entries(schema.properties ?? {}).map(([name, each]) => {
    const optional = required.has(name) ? "" : "?";
    return `${comment(each.description, inner)}${inner}${name}${optional}: ${typeOf(each, inner)};\n`;
  });
  return members.length ? `{\n${members.join("")}${indent}}` : "{}";
}

function comment(text, indent) {
  return text ? `${indent}/** ${text.replace(/\s*\n\s*/g, " ")} */\n` : "";
}

/** Returns the source that src/protocol.ts should have. */
export function expected() {
  return generate(JSON.parse(readFileSync(SOURCE, "utf8")));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(TARGET, expected());
