// Checks of options and arguments: a mistake in JavaScript is reported by name before anything is sent.

/** Accepted types of each option, such as `string|null`. */
export type OptionTypes = Readonly<Record<string, string>>;

/** Options of every request. */
export const REQUEST_OPTIONS: OptionTypes = { signal: "AbortSignal", timeoutMs: "number" };
/** Most edits between a wrong name and the name that is suggested. */
const NEAREST_EDITS = 3;

/** Throws a `TypeError` for an unknown option or a value of a wrong type. An undefined option counts as missing. */
export function checkOptions(place: string, options: unknown, types: OptionTypes): void {
  if (!hasType(options, "object")) throw new TypeError(`${place} takes an object of options, not ${show(options)}`);
  for (const [name, value] of Object.entries(options as object)) {
    if (!Object.hasOwn(types, name)) throw new TypeError(`${place} has no option \`${name}\`${hint(name, types)}`);
    checkType(`\`${name}\` of ${place}`, value, types[name]!);
  }
}

/** Throws a `TypeError` for an argument that is missing or of a wrong type. */
export function checkArgument(what: string, value: unknown, types: string): void {
  if (value === undefined) throw new TypeError(`${what} is missing; it must be ${listed(types)}`);
  checkType(what, value, types);
}

/** Throws a `TypeError` for a value of a wrong type. An undefined value counts as missing. */
export function checkType(what: string, value: unknown, types: string): void {
  if (value === undefined || types.split("|").some((type) => hasType(value, type))) return;
  throw new TypeError(`${what} must be ${listed(types)}, not ${show(value)}`);
}

/** Returns accepted types as text, such as "a string or null". */
function listed(types: string): string {
  const article = (type: string) => (type === "null" ? type : `${/^[aeio]/i.test(type) ? "an" : "a"} ${type}`);
  return types.split("|").map(article).join(" or ");
}

function hasType(value: any, type: string): boolean {
  switch (type) {
    case "any":
      return true;
    case "null":
      return value === null;
    case "number":
      return Number.isFinite(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "Uint8Array":
      return value instanceof Uint8Array;
    case "AbortSignal":
      return typeof value?.addEventListener === "function";
    default:
      return typeof value === type;
  }
}

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" ? "a function" : String(value);
}

function hint(name: string, types: OptionTypes): string {
  const names = Object.keys(types);
  const [edits, nearest] = names
    .map((each) => [distance(name.toLowerCase(), each.toLowerCase()), each] as const)
    .sort(([a], [b]) => a - b)[0] ?? [Infinity, ""];
  const isNear = edits <= Math.min(NEAREST_EDITS, Math.ceil(nearest.length / 2) - 1);
  return isNear ? `; did you mean \`${nearest}\`?` : `; it has ${names.map((each) => `\`${each}\``).join(", ")}`;
}

/** Returns the number of edits (Levenshtein distance) between two names. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
