/** Every method, one line each, in the order of docs/API.md. */
import type * as v from "valibot";
import type { Events } from "../../events.ts";
import type { Method, ParamsSchema, ResultOf, ResultSchema } from "../method.ts";
import {
  audit,
  clients,
  clientsDelete,
  clientsNew,
  clientsPairCancel,
  clientsPairStart,
  pairing,
  pairingCancel,
  pairingOpen,
  pairingWait,
} from "./client-methods.ts";
import { health, rights, rpcDiscover, version } from "./device-methods.ts";
import { confirm, launch, run, stop } from "./launch-methods.ts";
import { mappings, mappingsDelete, mappingsNew, mappingsUpdate } from "./mapping-methods.ts";
import {
  launchers,
  media,
  mediaActive,
  mediaControl,
  mediaIndex,
  mediaIndexCancel,
  mediaSearch,
  systems,
} from "./media-methods.ts";
import { inputGamepad, inputKeyboard, readers, readersWrite, readersWriteCancel } from "./reader-methods.ts";
import { playtime, playtimeLimitsUpdate, settings, settingsUpdate } from "./settings-methods.ts";
import { tokens, tokensHistory, tokensScan } from "./token-methods.ts";

export const methods = [
  launch,
  run,
  stop,
  confirm,
  tokens,
  tokensScan,
  tokensHistory,
  media,
  mediaActive,
  mediaControl,
  mediaSearch,
  mediaIndex,
  mediaIndexCancel,
  systems,
  launchers,
  settings,
  settingsUpdate,
  playtime,
  playtimeLimitsUpdate,
  mappings,
  mappingsNew,
  mappingsUpdate,
  mappingsDelete,
  readers,
  readersWrite,
  readersWriteCancel,
  inputKeyboard,
  inputGamepad,
  clients,
  clientsNew,
  clientsDelete,
  pairing,
  pairingOpen,
  pairingCancel,
  pairingWait,
  clientsPairStart,
  clientsPairCancel,
  audit,
  version,
  health,
  rights,
  rpcDiscover,
] as const satisfies readonly Method[];

const byName: ReadonlyMap<string, Method> = new Map(
  methods.flatMap((method: Method) => [method.name, ...(method.aliases ?? [])].map((name) => [name, method])),
);

export const methodNames: readonly string[] = [...byName.keys()];

export function methodOf(name: string): Method | undefined {
  return byName.get(name);
}

type Known = (typeof methods)[number];

type ParamsOf<M> =
  M extends Method<string, infer Params extends ParamsSchema, ResultSchema, infer Short>
    ? v.InferInput<Params> | ([Short] extends [never] ? never : string)
    : never;

/** Params, result and right of each method by its name, for authors of clients. */
export type Calls = {
  readonly [M in Known as M["name"]]: {
    readonly params: ParamsOf<M>;
    readonly result: ResultOf<M["result"]>;
    readonly right: M["right"];
  };
};

/** A notification on the wire. */
export type Notification = {
  [Name in keyof Events]: { readonly method: Name; readonly params: Events[Name] };
}[keyof Events];
