/**
 * A method is a value: its name, who may call it, the schemas of its params and result, a line of docs, and what it
 * does. Everything else about it is derived: the check of each request, the OpenRPC document, the API page, the client's
 * types.
 */
import * as v from "valibot";
import { type ErrorCode, ServiceError } from "../core/errors.ts";
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

/** Who calls. */
export type Caller = Pick<Session, "access" | "gone">;

export interface MethodFacts<
  Name extends string,
  Params extends ParamsSchema,
  Result extends ResultSchema,
  Short extends string,
> {
  readonly name: Name;
  /** Other names that callers know it by. */
  readonly aliases?: readonly string[];
  /** `anyone` who is served at all, or only callers on the device itself. */
  readonly access: "anyone" | "device";
  readonly docs: string;
  readonly params: Params;
  /** A bare string as params stands for this field. */
  readonly shorthand?: Short;
  readonly result: Result;
  /** It answers when something long has ended; what it causes is told before. */
  readonly isLong?: true;
  /** It starts what a card would: from afar, the audit log tells of it. */
  readonly launches?: true;
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
> extends Omit<MethodFacts<Name, Params, Result, Short>, "run"> {
  /**
   * Checks who calls and what with, and runs. Throws `ServiceError`: `forbidden`, or `invalid-params` that names the
   * field.
   */
  call(services: Services, params: unknown, caller: Caller): unknown;
}

export const noParams = v.object({});

export function method<
  const Name extends string,
  Params extends ParamsSchema,
  Result extends ResultSchema,
  const Short extends string = never,
>(facts: MethodFacts<Name, Params, Result, Short>): Method<Name, Params, Result, Short> {
  const fields = Object.keys(facts.params.entries);
  return {
    ...facts,
    call(services, params, caller) {
      if (facts.access === "device" && caller.access !== "device")
        throw new ServiceError("forbidden", `${facts.name} can be called on the device itself only`);
      const checked = v.safeParse(facts.params, named(params ?? {}, fields, facts.shorthand), {
        abortEarly: true,
      });
      if (!checked.success) throw new ServiceError("invalid-params", complaint(checked.issues[0]));
      return facts.run(services, checked.output, caller);
    },
  };
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
