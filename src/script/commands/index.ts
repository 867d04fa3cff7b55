/** Every script command, one line each. */
import type { ScriptCommand } from "../command.ts";
import { delay } from "./delay.ts";
import { echo } from "./echo.ts";
import { launch } from "./launch.ts";
import { stop } from "./stop.ts";

export const commands: readonly ScriptCommand[] = [launch, stop, delay, echo];
