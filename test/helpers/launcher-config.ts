/** A launcher as a config file has it, that takes every file unless `some` says otherwise. */
import type { LauncherConfig } from "../../src/config/shape.ts";

export const launcher = (id: string, some: Partial<LauncherConfig> = {}): LauncherConfig => ({
  id,
  systems: [],
  extensions: [],
  command: [id, "{path}"],
  ...some,
});
