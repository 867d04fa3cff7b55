/** Every method, one line each. */
import type { Method } from "../method.ts";
import { health } from "./health.ts";
import { launch, run } from "./launch.ts";
import { mediaActive } from "./media-active.ts";
import { readers } from "./readers.ts";
import { stop } from "./stop.ts";
import { tokens } from "./tokens.ts";
import { tokensHistory } from "./tokens-history.ts";
import { tokensScan } from "./tokens-scan.ts";
import { version } from "./version.ts";

export const methods: readonly Method[] = [
  launch,
  run,
  stop,
  tokens,
  tokensScan,
  tokensHistory,
  readers,
  version,
  health,
  mediaActive,
];
