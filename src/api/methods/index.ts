/** Every method, one line each. */
import type { Method } from "../method.ts";
import { audit } from "./audit.ts";
import { clients, clientsDelete, clientsNew } from "./clients.ts";
import { confirm } from "./confirm.ts";
import { health } from "./health.ts";
import { inputGamepad, inputKeyboard } from "./input.ts";
import { launch, run } from "./launch.ts";
import { mappings, mappingsDelete, mappingsNew, mappingsUpdate } from "./mappings.ts";
import { media, mediaActive, mediaControl, mediaIndex, mediaIndexCancel, mediaSearch } from "./media.ts";
import { clientsPairCancel, clientsPairStart } from "./pair-by-pin.ts";
import { pairing, pairingCancel, pairingOpen, pairingWait } from "./pairing.ts";
import { playtime, playtimeLimitsUpdate } from "./playtime.ts";
import { readers, readersWrite, readersWriteCancel } from "./readers.ts";
import { rights } from "./rights.ts";
import { rpcDiscover } from "./rpc-discover.ts";
import { settings, settingsUpdate } from "./settings.ts";
import { stop } from "./stop.ts";
import { launchers, systems } from "./systems.ts";
import { tokens } from "./tokens.ts";
import { tokensHistory } from "./tokens-history.ts";
import { tokensScan } from "./tokens-scan.ts";
import { version } from "./version.ts";

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
