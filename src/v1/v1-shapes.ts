/**
 * Results in the shapes that clients of version 1 expect, where these differ from docs/API.md. All such differences are
 * here. Other callers, and other methods, do not pass through this file.
 */
import type { Calls } from "../api/methods/index.ts";

type Change<Result> = {
  // Converts a result. The notation of a method lets the compiler accept a `Change` that is looked up by a name at run time.
  of(result: Result): unknown;
};

const changes: { readonly [Name in keyof Calls]?: Change<Calls[Name]["result"]> } = {
  mappings: { of: withTextIds },
};

const byMethod: ReadonlyMap<string, Change<unknown>> = new Map(Object.entries(changes));

/** The result of a method, named as in docs/API.md and not by an alias, for a client of version 1. */
export function resultForV1(method: string, result: unknown): unknown {
  return byMethod.get(method)?.of(result) ?? result;
}

/** Mappings with their ids as texts. The app drops an entry whose id is a number. Every method takes these digits as an id. */
function withTextIds({ mappings }: Calls["mappings"]["result"]) {
  return { mappings: mappings.map((one) => ({ ...one, id: String(one.id) })) };
}
