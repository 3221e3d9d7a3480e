// Schemas and checks by hand: with valibot and its converter to JSON Schema this file is as long, and what a page
// downloads of the tools 10.5 KB in place of 5.8 (minified, gzip).
import { textProblem } from "../arguments.js";
import { InvalidArgumentError } from "../core/errors.js";

/** The JSON Schema of a tool's input: an object of plain values. */
// A type, unlike an interface, is assignable to the schemas of frameworks, which have an index signature.
// eslint-disable-next-line @typescript-eslint/consistent-type-definitions
export type InputSchema<
  P extends Properties = Properties,
  R extends keyof P & string = keyof P & string,
> = {
  type: "object";
  properties: P;
  required: R[];
  additionalProperties: false;
};

/** The schemas of an input's properties. */
export type Properties = Record<string, InputProperty>;

/** The schema of one property. */
export type InputProperty =
  | { type: "string"; description: string; minLength?: number; enum?: string[] }
  | { type: "number" | "integer"; description: string; minimum: number; maximum?: number }
  | { type: "boolean"; description: string };

/** An input that has been checked. */
export type InputOf<P extends Properties, R extends keyof P> = {
  [Name in keyof P]: ValueOf<P[Name]> | (Name extends R ? never : undefined);
};

type ValueOf<P extends InputProperty> = P extends { type: "string"; enum: (infer Choice)[] }
  ? Choice
  : P extends { type: "string" }
    ? string
    : P extends { type: "boolean" }
      ? boolean
      : number;

/** Puts the schema of an input together. */
export function inputSchema<const P extends Properties, const R extends keyof P & string>(
  properties: P,
  required: R[],
): InputSchema<P, R> {
  return { type: "object", properties, required, additionalProperties: false };
}

/**
 * Checks an input.
 *
 * @throws {InvalidArgumentError} It is wrong; the message has all that is.
 */
export function checkInput<P extends Properties, R extends keyof P & string>(
  tool: string,
  schema: InputSchema<P, R>,
  input: unknown,
): InputOf<P, R> {
  const given = isObject(input) ? withoutNulls(schema, input) : input;
  const problems = isObject(given)
    ? [...problemsOf(schema, given)]
    : [`it must be an object, but is ${shown(given)}`];
  if (problems.length === 0) return given as InputOf<P, R>;
  throw wrongInput(tool, problems.join("; "));
}

/** What is wrong with an input, as an error whose message is for a model. */
export function wrongInput(tool: string, problem: string, cause?: unknown): InvalidArgumentError {
  const details = cause === undefined ? {} : { cause };
  return new InvalidArgumentError(`\`${tool}\` can't take this input: ${problem}`, details);
}

/** An input without what may be left out and is null: many models send that for nothing. */
function withoutNulls(schema: InputSchema, input: Record<string, unknown>): object {
  const isNothing = ([name, value]: [string, unknown]): boolean =>
    value === null && Object.hasOwn(schema.properties, name) && !schema.required.includes(name);
  return Object.fromEntries(Object.entries(input).filter((entry) => !isNothing(entry)));
}

function* problemsOf(schema: InputSchema, input: Record<string, unknown>): Generator<string> {
  const { properties, required } = schema;
  for (const name of Object.keys(input)) {
    if (!Object.hasOwn(properties, name)) {
      const known = Object.keys(properties).map((known) => `\`${known}\``);
      yield `there is no \`${name}\`, only ${known.join(", ") || "an empty object"}`;
    }
  }
  for (const [name, property] of Object.entries(properties)) {
    const value = input[name];
    if (value === undefined) {
      if (required.includes(name)) yield `\`${name}\` is missing: ${property.description}`;
    } else if (!fits(property, value)) {
      yield `\`${name}\` must be ${expected(property)}, but is ${shown(value)}`;
    } else if (typeof value === "string") {
      const problem = textProblem(value, NO_TEXT);
      if (problem !== undefined) {
        yield `\`${name}\` must be text without NUL and lone surrogates, but ${problem}`;
      }
    }
  }
}

/** What no shell can hold, and half of a character. */
const NO_TEXT = /\0|\p{Cs}/u;

function fits(property: InputProperty, value: unknown): boolean {
  switch (property.type) {
    case "string": {
      const { minLength = 0, enum: choices } = property;
      if (typeof value !== "string" || value.length < minLength) return false;
      return choices?.includes(value) ?? true;
    }
    case "boolean":
      return typeof value === "boolean";
    default: {
      const { minimum, maximum = Infinity } = property;
      if (typeof value !== "number" || !(value >= minimum && value <= maximum)) return false;
      return Number.isFinite(value) && (property.type === "number" || Number.isSafeInteger(value));
    }
  }
}

function expected(property: InputProperty): string {
  switch (property.type) {
    case "string":
      if (property.enum !== undefined) return `one of ${property.enum.map(shown).join(", ")}`;
      return property.minLength === undefined ? "a string" : "a string that is not empty";
    case "boolean":
      return "true or false";
    default: {
      const kind = property.type === "integer" ? "a whole number" : "a number";
      const { minimum, maximum } = property;
      return maximum === undefined
        ? `${kind} from ${minimum} on`
        : `${kind} from ${minimum} to ${maximum}`;
    }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** How much of a wrong value is shown, in characters. */
const SHOWN = 100;

/** A wrong value, for a message. */
export function shown(value: unknown): string {
  const text = textOf(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

function textOf(value: unknown): string {
  // JSON has no NaN.
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  try {
    const json = JSON.stringify(value) as string | undefined;
    // What has no JSON, such as a function, has a type.
    return json ?? typeof value;
  } catch {
    return typeof value;
  }
}
