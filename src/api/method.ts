/**
 * A method is a value: name, right, schemas of params and result, docs, and `run`. The check of each request, the OpenRPC
 * document, the API page and the client's types are derived from it.
 */
import * as v from "valibot";
import { fromBroker } from "../core/audit.ts";
import { type ErrorCode, ServiceError } from "../core/errors.ts";
import { allows, type Requester, type Right } from "../core/rights.ts";
import type { Frozen } from "../core/shapes.ts";
import type { CallerSession, MethodCaller } from "./connection.ts";
import type { Services } from "./services.ts";

/** Params come by name, or by place in `entries`. A member that the schema does not have is ignored. */
export type ParamsSchema = v.GenericSchema & { readonly entries: v.ObjectEntries };
export type ResultSchema = v.GenericSchema;

export type ResultOf<Result extends ResultSchema> = Frozen<v.InferInput<Result>>;

/** The return value of `run`: none if the result is null. */
type Returned<Result extends ResultSchema> = [ResultOf<Result>] extends [null]
  ? ReturnType<() => void>
  : ResultOf<Result>;

/** The caller as the launch queue keeps it. */
export function requesterOf({ grant, from: { client } }: MethodCaller): Requester {
  return client === undefined ? { grant } : { client, grant };
}

interface MethodFacts<
  Name extends string,
  Params extends ParamsSchema,
  Result extends ResultSchema,
  Short extends string,
  Required extends Right = Right,
> {
  readonly name: Name;
  /** Other names of the method. */
  readonly aliases?: readonly string[];
  /** The one right that a caller needs. */
  readonly right: Required;
  /**
   * True if only callers on the device may call it, because it shows or deletes secrets. An owner over the network is also
   * refused.
   */
  readonly isLocal?: true;
  readonly docs: string;
  /** The schema of the params. A method without it takes none. */
  readonly params?: Params;
  /** A bare string as params stands for this field. */
  readonly shorthand?: Short;
  /** The schema of the result. Without it the result is null. */
  readonly result?: Result;
  /** The answer of this method may come much later. The notifications that it causes are sent before the answer. */
  readonly isLong?: true;
  /**
   * The method launches, as a card does. A remote call is audited, and counts as a disk write because the history keeps
   * it.
   */
  readonly launches?: true;
  /** Whether these params cause a disk write, such as a screenshot, that changes no data of Tapdeck. A remote call is counted. */
  readonly writes?: (params: v.InferOutput<Params>) => boolean;
  /** The object that the method changes, without secrets. A remote call is counted as a disk write, and audited. */
  readonly changes?: (params: v.InferOutput<Params>, result: Returned<Result>) => string;
  /** The method's own error codes, besides those of any method. */
  readonly errors?: readonly ErrorCode[];
  readonly run: (
    services: Services,
    params: v.InferOutput<Params>,
    caller: MethodCaller,
  ) => Returned<Result> | Promise<Returned<Result>>;
}

export interface Method<
  Name extends string = string,
  Params extends ParamsSchema = ParamsSchema,
  Result extends ResultSchema = ResultSchema,
  Short extends string = string,
  Required extends Right = Right,
> extends Omit<
    MethodFacts<Name, Params, Result, Short, Required>,
    "run" | "changes" | "writes" | "params" | "result"
  > {
  readonly params: Params;
  readonly result: Result;
  /**
   * Checks the caller's right and the params, and runs. Throws `ServiceError`: `forbidden` with `data.right`, or
   * `invalid-params` that names the field.
   */
  call(services: Services, params: unknown, caller: MethodCaller, watch?: Watch): unknown;
}

/** Dispatch calls this around a call with valid params. */
export interface Watch {
  /**
   * Called before the method runs; `writes` is true if the method writes to the disk. Prevents the call by throwing
   * `ServiceError`.
   */
  readonly before: (writes: boolean) => void;
  /** Called after a change, with its object. */
  readonly onChanged: (object: string) => void;
}

const noParams = v.object({});
const nothing = v.null();

export function method<
  const Name extends string,
  const Required extends Right,
  Params extends ParamsSchema = typeof noParams,
  Result extends ResultSchema = typeof nothing,
  const Short extends string = never,
>(facts: MethodFacts<Name, Params, Result, Short, Required>): Method<Name, Params, Result, Short, Required>;
export function method({
  changes,
  writes,
  params: schema = noParams,
  result: answer = nothing,
  ...facts
}: MethodFacts<string, ParamsSchema, ResultSchema, string>): Method {
  const fields = Object.keys(schema.entries);
  return {
    ...facts,
    params: schema,
    result: answer,
    call(services, params, caller, watch) {
      if (facts.isLocal === true && caller.access !== "device") throw onlyOnDevice(facts.name);
      requireRight(facts.name, facts.right, caller);
      const checked = v.safeParse(schema, named(params ?? {}, fields, facts.shorthand), {
        abortEarly: true,
      });
      if (!checked.success) throw new ServiceError("invalid-params", complaint(checked.issues[0]));
      watch?.before(changes !== undefined || writes?.(checked.output) === true);
      const result = facts.run(services, checked.output, caller);
      if (changes === undefined || watch === undefined) return result;
      const note = (made: Returned<ResultSchema>) => {
        watch.onChanged(changes(checked.output, made));
        return made;
      };
      return result instanceof Promise ? result.then(note) : note(result);
    },
  };
}

/** Throws `forbidden` if the caller lacks the right. `what` is the method, or the part of it that requires the right. */
export function requireRight(
  what: string,
  right: Right,
  caller: Pick<CallerSession, "grant" | "from">,
): void {
  if (allows(caller.grant(), right)) return;
  const advice =
    caller.from === fromBroker
      ? "mqtt.role decides the rights of a broker's commands"
      : "pair this client with the device (tapdeck pair)";
  const who =
    right === "own" && caller.from !== fromBroker ? "an owner's phone and the device itself have it" : advice;
  throw new ServiceError("forbidden", `${what} requires the right "${right}": ${who}`, { data: { right } });
}

export function onlyOnDevice(what: string): ServiceError {
  const sentence = `${what} can be called on the device itself only`;
  return new ServiceError("forbidden", sentence, { data: { right: "own" } });
}

/** Converts params by place to params by name. */
function named(params: unknown, fields: readonly string[], shorthand: string | undefined): unknown {
  if (typeof params === "string" && shorthand !== undefined) return { [shorthand]: params };
  if (!Array.isArray(params)) return params;
  if (params.length > fields.length)
    throw new ServiceError("invalid-params", `params: at most ${fields.length} are taken by place`);
  return Object.fromEntries(params.map((value, place) => [fields[place], value]));
}

/** The complaint about one field, such as `limit: it is 0, and the least is 1`. */
function complaint(issue: v.BaseIssue<unknown>): string {
  const field = v.getDotPath(issue);
  const why = sentenceOf(issue);
  if (field === null) return issue.type === "object" ? `params: ${why}` : why;
  return issue.input === undefined ? `${field}: missing` : `${field}: ${why}`;
}

/** Plain words for the library's own messages, which begin with "Invalid"; schemas of the methods have sentences of their own. */
function sentenceOf({
  kind,
  type,
  input,
  expected,
  received,
  requirement,
  message,
}: v.BaseIssue<unknown>): string {
  if (!message.startsWith("Invalid ")) return message;
  const isOne = (...types: readonly string[]) => types.includes(type);
  const things = typeof input === "object" ? "entries" : "characters";
  if (isOne("min_length"))
    return requirement === 1 ? "it is empty" : `it has less than ${requirement} ${things}`;
  if (isOne("max_length", "max_entries"))
    return `it has ${received} ${things}, and at most ${requirement} are taken`;
  if (isOne("min_value")) return `it is ${received}, and the least is ${requirement}`;
  if (isOne("max_value")) return `it is ${received}, and the most is ${requirement}`;
  if (isOne("integer", "safe_integer")) return `it must be a whole number, not ${received}`;
  if (kind !== "schema" || expected === null) return message;
  const wanted = expected.replace(/^\(|\)$/g, "").split(" | ");
  const not = received.length > receivedCharsMax ? `${received.slice(0, receivedCharsMax)} …` : received;
  return `it must be ${wanted.map(inWords).join(" or ")}, not ${inWords(not)}`;
}

const receivedCharsMax = 60;
const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  boolean: "true or false",
  Array: "a list",
  Object: "an object",
};
const inWords = (kind: string): string => (Object.hasOwn(kinds, kind) && kinds[kind]) || kind;
