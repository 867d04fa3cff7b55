/**
 * A method is a value: its name, who may call it, the schemas of its params and result, a line of docs, and what it
 * does. Everything else about it is derived.
 */
import * as v from "valibot";
import { ServiceError } from "../core/errors.ts";
import type { Services } from "./services.ts";

/** Params are named; a member that the schema does not know is ignored. */
export type ParamsSchema = v.ObjectSchema<v.ObjectEntries, undefined>;
export type ResultSchema = v.GenericSchema;

export interface MethodFacts<Params extends ParamsSchema, Result extends ResultSchema> {
  readonly name: string;
  /** `anyone` who is served at all, or only callers on the device itself. */
  readonly access: "anyone" | "device";
  readonly docs: string;
  readonly params: Params;
  /** A bare string as params stands for this field. */
  readonly shorthand?: string;
  readonly result: Result;
  readonly run: (
    services: Services,
    params: v.InferOutput<Params>,
  ) => v.InferInput<Result> | Promise<v.InferInput<Result>>;
}

export interface Method {
  readonly name: string;
  readonly access: "anyone" | "device";
  readonly docs: string;
  readonly params: ParamsSchema;
  readonly shorthand?: string;
  readonly result: ResultSchema;
  /** Checks `params`, throws `ServiceError("invalid-params")` that names the field, and runs. */
  call(services: Services, params: unknown): unknown;
}

export const noParams = v.object({});

export function method<Params extends ParamsSchema, Result extends ResultSchema>(
  facts: MethodFacts<Params, Result>,
): Method {
  return {
    ...facts,
    call(services, params) {
      const given = params ?? {};
      const named =
        typeof given === "string" && facts.shorthand !== undefined ? { [facts.shorthand]: given } : given;
      const checked = v.safeParse(facts.params, named, { abortEarly: true });
      if (!checked.success) throw new ServiceError("invalid-params", complaint(checked.issues[0]));
      return facts.run(services, checked.output);
    },
  };
}

/** `limit: Expected >=1 but received 0`, of the first fault. */
function complaint(issue: v.BaseIssue<unknown>): string {
  const field = v.getDotPath(issue) ?? "params";
  if (issue.input === undefined) return `${field}: missing`;
  return `${field}: ${issue.message}`;
}
