/** Every migration, in order; its place is its number. Earlier ones are never edited. */
import { history } from "./0001-history.ts";
import { mappings } from "./0002-mappings.ts";
import { clients } from "./0003-clients.ts";
import { playTime } from "./0004-play-time.ts";
import { v1Clients } from "./0005-v1-clients.ts";
import { lastMedia } from "./0006-last-media.ts";
import { access } from "./0007-access.ts";

export const migrations: readonly string[] = [
  history,
  mappings,
  clients,
  playTime,
  v1Clients,
  lastMedia,
  access,
];
