/**
 * A method is a value: its name, who may call it, the schemas of its params and result, a line of docs, and what it
 * does. Everything else about it is derived.
 */
import { type Static, type TObject, type TSchema, Type } from "typebox";
import { Compile } from "typebox/compile";
import { ServiceError } from "../core/errors.ts";
import type { Services } from "./services.ts";

export interface MethodFacts<Params extends TObject, Result extends TSchema> {
  readonly name: string;
  /** `anyone` who is served at all, or only callers on the device itself. */
  readonly access: "anyone" | "device";
  readonly docs: string;
  readonly params: Params;
  /** A bare string as params stands for this field. */
  readonly shorthand?: string;
  readonly result: Result;
  readonly run: (services: Services, params: Static<Params>) => Static<Result> | Promise<Static<Result>>;
}

export interface Method {
  readonly name: string;
  readonly access: "anyone" | "device";
  readonly docs: string;
  readonly params: TObject;
  readonly shorthand?: string;
  readonly result: TSchema;
  /** Checks `params`, throws `ServiceError("invalid-params")` that names the field, and runs. */
  call(services: Services, params: unknown): unknown;
}

export const noParams = Type.Object({});

export function method<Params extends TObject, Result extends TSchema>(
  facts: MethodFacts<Params, Result>,
): Method {
  const checker = Compile(facts.params);
  return {
    ...facts,
    call(services, params) {
      const given = params ?? {};
      const named =
        typeof given === "string" && facts.shorthand !== undefined ? { [facts.shorthand]: given } : given;
      if (!checker.Check(named)) throw new ServiceError("invalid-params", complaint(checker.Errors(named)));
      return facts.run(services, named);
    },
  };
}

interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/** `limit: must be >= 1`, of the first fault. */
function complaint(errors: readonly SchemaError[]): string {
  const [first] = errors;
  if (first === undefined) return "params are not of the right form";
  if (first.keyword === "required" && "requiredProperties" in first.params) {
    return `${[first.params.requiredProperties].flat().join(", ")}: missing`;
  }
  const field = first.instancePath.slice(1).replaceAll("/", ".");
  return `${field === "" ? "params" : field}: ${first.message}`;
}
