/** A launcher like that of a config file, which takes every file unless `some` restricts it. */
import type { LauncherConfig } from "../../src/config/launcher-settings.ts";

export const launcher = (id: string, some: Partial<LauncherConfig> = {}): LauncherConfig => ({
  id,
  systems: [],
  extensions: [],
  command: [id, "{path}"],
  ...some,
});
