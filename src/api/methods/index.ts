/** Every method, in the order of docs/API.md. */
import type * as v from "valibot";
import type { Events } from "../../events.ts";
import type { Method, ParamsSchema, ResultOf, ResultSchema } from "../method.ts";
import { backupMethods } from "./backup-methods.ts";
import { bluetoothMethods } from "./bluetooth-methods.ts";
import { brokerMethods } from "./broker-methods.ts";
import { buttonMethods } from "./button-methods.ts";
import { clientMethods } from "./client-methods.ts";
import { deviceMethods } from "./device-methods.ts";
import { launchMethods } from "./launch-methods.ts";
import { libraryMethods } from "./library-methods.ts";
import { mappingMethods } from "./mapping-methods.ts";
import { mediaMethods } from "./media-methods.ts";
import { playTimeLimitMethods } from "./play-time-limit-methods.ts";
import { readerMethods } from "./reader-methods.ts";
import { settingsMethods } from "./settings-methods.ts";
import { shareMethods } from "./share-methods.ts";
import { tokenMethods } from "./token-methods.ts";
import { uploadMethods } from "./upload-methods.ts";
import { wifiMethods } from "./wifi-methods.ts";

export const methods = [
  ...launchMethods,
  ...tokenMethods,
  ...mediaMethods,
  ...libraryMethods,
  ...uploadMethods,
  ...settingsMethods,
  ...playTimeLimitMethods,
  ...mappingMethods,
  ...readerMethods,
  ...clientMethods,
  ...brokerMethods,
  ...wifiMethods,
  ...buttonMethods,
  ...bluetoothMethods,
  ...shareMethods,
  ...backupMethods,
  ...deviceMethods,
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
