/**
 * A method is a value: its name, the right that it requires, the schemas of its params and result, a line of docs, and what
 * it does. Everything else about it is derived: the check of each request, the OpenRPC document, the API page, the
 * client's types.
 */
import * as v from "valibot";
import { type ErrorCode, ServiceError } from "../core/errors.ts";
import { allows, type Requester, type Right } from "../core/rights.ts";
import type { Session } from "./connection.ts";
import type { Services } from "./services.ts";

/** Params are named, or given by their place in `entries`; a member that the schema does not know is ignored. */
export type ParamsSchema = v.GenericSchema & { readonly entries: v.ObjectEntries };
export type ResultSchema = v.GenericSchema;

/** What is handed out is not changed any more. */
type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

export type ResultOf<Result extends ResultSchema> = Frozen<v.InferInput<Result>>;

/** The caller, as a method sees it. */
export type Caller = Pick<Session, "grant" | "gone" | "from">;

/** The caller as the queue keeps it, after the answer too. */
export function requesterOf({ grant, from: { client } }: Caller): Requester {
  return client === undefined ? { grant } : { client, grant };
}

export interface MethodFacts<
  Name extends string,
  Params extends ParamsSchema,
  Result extends ResultSchema,
  Short extends string,
  Required extends Right = Right,
> {
  readonly name: Name;
  /** Other names that callers know it by. */
  readonly aliases?: readonly string[];
  /** The one right that a caller needs. */
  readonly right: Required;
  readonly docs: string;
  readonly params: Params;
  /** A bare string as params stands for this field. */
  readonly shorthand?: Short;
  readonly result: Result;
  /** It answers when something long has ended; what it causes is told before. */
  readonly isLong?: true;
  /** It starts what a card would. A remote call counts as a disk write, since the history keeps it, and is audited. */
  readonly launches?: true;
  /** Whether these params cause a disk write that changes nothing which the device keeps. A remote call is counted. */
  readonly writes?: (params: v.InferOutput<Params>) => boolean;
  /** It changes what the device keeps: the object of the change, without secrets. A remote call is counted and audited. */
  readonly changes?: (params: v.InferOutput<Params>, result: ResultOf<Result>) => string;
  /** Refusals of its own, beside those that any method may answer with. */
  readonly errors?: readonly ErrorCode[];
  readonly run: (
    services: Services,
    params: v.InferOutput<Params>,
    caller: Caller,
  ) => ResultOf<Result> | Promise<ResultOf<Result>>;
}

export interface Method<
  Name extends string = string,
  Params extends ParamsSchema = ParamsSchema,
  Result extends ResultSchema = ResultSchema,
  Short extends string = string,
  Required extends Right = Right,
> extends Omit<MethodFacts<Name, Params, Result, Short, Required>, "run" | "changes" | "writes"> {
  /**
   * Checks the caller's right and the params, and runs. Throws `ServiceError`: `forbidden` with `data.right`, or
   * `invalid-params` that names the field.
   */
  call(services: Services, params: unknown, caller: Caller, watch?: Watch): unknown;
}

/** What dispatch does around a call that was found good. */
export interface Watch {
  /** Called before it runs, with whether it writes to the disk; may throw `ServiceError`, and then it does not run. */
  readonly before: (writes: boolean) => void;
  /** Gets the object of a change that was made. */
  readonly onChanged: (object: string) => void;
}

export const noParams = v.object({});

export function method<
  const Name extends string,
  Params extends ParamsSchema,
  Result extends ResultSchema,
  const Required extends Right,
  const Short extends string = never,
>(facts: MethodFacts<Name, Params, Result, Short, Required>): Method<Name, Params, Result, Short, Required> {
  const { changes, writes, ...shown } = facts;
  const fields = Object.keys(facts.params.entries);
  return {
    ...shown,
    call(services, params, caller, watch) {
      requireRight(facts.name, facts.right, caller);
      const checked = v.safeParse(facts.params, named(params ?? {}, fields, facts.shorthand), {
        abortEarly: true,
      });
      if (!checked.success) throw new ServiceError("invalid-params", complaint(checked.issues[0]));
      watch?.before(changes !== undefined || writes?.(checked.output) === true);
      const result = facts.run(services, checked.output, caller);
      if (changes === undefined || watch === undefined) return result;
      const note = (made: ResultOf<Result>) => {
        watch.onChanged(changes(checked.output, made));
        return made;
      };
      return result instanceof Promise ? result.then(note) : note(result);
    },
  };
}

/** Throws `forbidden` where the caller lacks the right; `what` is the method, or the part of it that requires the right. */
export function requireRight(what: string, right: Right, caller: Pick<Session, "grant">): void {
  if (allows(caller.grant(), right)) return;
  const sentence =
    right === "own"
      ? `${what} can be called on the device itself only`
      : `${what} requires the right "${right}": pair this client with the device (tapdeck pair)`;
  throw new ServiceError("forbidden", sentence, { data: { right } });
}

/** Params by name, whichever way they came. */
function named(params: unknown, fields: readonly string[], shorthand: string | undefined): unknown {
  if (typeof params === "string" && shorthand !== undefined) return { [shorthand]: params };
  if (!Array.isArray(params)) return params;
  if (params.length > fields.length)
    throw new ServiceError("invalid-params", `params: at most ${fields.length} are taken by place`);
  return Object.fromEntries(params.map((value, place) => [fields[place], value]));
}

/** `limit: Expected >=1 but received 0`, of the first fault. */
function complaint(issue: v.BaseIssue<unknown>): string {
  const field = v.getDotPath(issue);
  if (field === null) return issue.type === "object" ? `params: ${issue.message}` : issue.message;
  return issue.input === undefined ? `${field}: missing` : `${field}: ${issue.message}`;
}
