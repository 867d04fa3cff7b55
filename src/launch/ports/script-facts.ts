/** What the variables of a script's expressions hold at one moment. */
import { hostname } from "node:os";
import type { Config } from "../../config/shape.ts";
import type { ActiveMedia } from "../../core/media.ts";
import type { TokenParams } from "../../core/token.ts";
import { normalizeUid } from "../../core/token.ts";
import type { Facts } from "../../script/expression.ts";
import { platform, version } from "../../system/own-program.ts";
import type { HookEvent } from "../run-context.ts";

export interface Moment {
  readonly config: Config;
  /** The last one that was launched; undefined for a script that may learn nothing of cards. */
  readonly token: TokenParams | undefined;
  readonly media: ActiveMedia | undefined;
  /** What a hook is told of. */
  readonly event?: HookEvent | undefined;
}

export function factsOf(moment: Moment): Facts {
  const { config, event } = moment;
  const token = event?.token ?? moment.token;
  const media = event?.media ?? moment.media;
  return {
    platform,
    version,
    scan_mode: config.readers.insertMode ? "hold" : "tap",
    "device.hostname": hostname(),
    "device.os": process.platform,
    // As cards write it: the names that Go and Debian have for processors.
    "device.arch": process.arch === "x64" ? "amd64" : process.arch,
    "last_scanned.id": normalizeUid(token?.uid ?? ""),
    "last_scanned.value": token?.text ?? "",
    "last_scanned.data": token?.data ?? "",
    media_playing: moment.media !== undefined,
    "active_media.launcher_id": media?.launcherId ?? "",
    "active_media.system_id": media?.systemId ?? "",
    "active_media.system_name": media?.systemName ?? "",
    "active_media.path": media?.mediaPath ?? "",
    "active_media.name": media?.mediaName ?? "",
    "launching.path": event?.launching?.path ?? "",
    "launching.system_id": event?.launching?.systemId ?? "",
    "launching.launcher_id": event?.launching?.launcherId ?? "",
  };
}
