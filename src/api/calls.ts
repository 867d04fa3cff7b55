/** Params, result and right of each method as types, for authors of clients. Derived from the methods themselves. */
import type * as v from "valibot";
import type { Events } from "../events.ts";
import type { Method, ParamsSchema, ResultOf, ResultSchema } from "./method.ts";
import type { methods } from "./methods/index.ts";

type Known = (typeof methods)[number];

type ParamsOf<M> =
  M extends Method<string, infer Params extends ParamsSchema, ResultSchema, infer Short>
    ? v.InferInput<Params> | ([Short] extends [never] ? never : string)
    : never;

/** By method name. */
export type Calls = {
  readonly [M in Known as M["name"]]: {
    readonly params: ParamsOf<M>;
    readonly result: ResultOf<M["result"]>;
    readonly right: M["right"];
  };
};

/** A notification as it comes over the wire. */
export type Notification = {
  [Name in keyof Events]: { readonly method: Name; readonly params: Events[Name] };
}[keyof Events];
