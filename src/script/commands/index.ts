/** Every script command, one line each. */
import type { ScriptCommand } from "../command.ts";
import { control } from "./control.ts";
import { delay } from "./delay.ts";
import { echo } from "./echo.ts";
import { execute } from "./execute.ts";
import { httpGet } from "./http-get.ts";
import { httpPost } from "./http-post.ts";
import { inputGamepad, inputKeyboard } from "./input.ts";
import { inputCoinP1, inputCoinP2, inputKey } from "./input-key.ts";
import { launch } from "./launch.ts";
import { launchLast } from "./launch-last.ts";
import { launchRandom } from "./launch-random.ts";
import { launchSearch } from "./launch-search.ts";
import { launchSystem } from "./launch-system.ts";
import { launchTitle } from "./launch-title.ts";
import { pair } from "./pair.ts";
import {
  playlistGoto,
  playlistLoad,
  playlistNext,
  playlistPause,
  playlistPlay,
  playlistPrevious,
  playlistStop,
} from "./playlist.ts";
import { stop } from "./stop.ts";
import { volume } from "./volume.ts";
import { write } from "./write.ts";

export const commands: readonly ScriptCommand[] = [
  launch,
  launchTitle,
  launchSearch,
  launchRandom,
  launchSystem,
  launchLast,
  playlistPlay,
  playlistLoad,
  playlistStop,
  playlistPause,
  playlistNext,
  playlistPrevious,
  playlistGoto,
  stop,
  control,
  volume,
  delay,
  echo,
  httpGet,
  httpPost,
  execute,
  inputKeyboard,
  inputGamepad,
  inputKey,
  inputCoinP1,
  inputCoinP2,
  write,
  pair,
];

/** Names that cards carry and that are to come: a card with one of them is not misspelt. */
export const notYet: readonly string[] = ["playlist.open"];
