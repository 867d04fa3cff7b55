/** Where things stand when nobody says otherwise (decisions, "The config file"; XDG Base Directory Specification). */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

export interface PlaceOptions {
  /** `--config`: the config file. */
  readonly config?: string | undefined;
  /** `--data`: the data folder. */
  readonly data?: string | undefined;
}

export interface Places {
  readonly configPath: string;
  /** True where a person named the file: then it must exist. */
  readonly configNamed: boolean;
  readonly dataFolder: string;
  /** The socket for callers on the device: in the run folder, or, with `--data`, in that folder. */
  readonly socketPath: string;
}

/** With `--data` alone, the config file stands in that folder too, so that a second service is one flag away. */
export function placesOf({ config, data }: PlaceOptions, environment: Environment): Places {
  const dataFolder = resolve(data ?? join(base(environment.XDG_DATA_HOME, ".local/share"), "tapdeck"));
  const configFolder =
    data === undefined ? join(base(environment.XDG_CONFIG_HOME, ".config"), "tapdeck") : dataFolder;
  return {
    configPath: resolve(config ?? join(configFolder, "config.toml")),
    configNamed: config !== undefined,
    dataFolder,
    socketPath: join(data === undefined ? runFolder(environment, dataFolder) : dataFolder, "tapdeck.sock"),
  };
}

/** systemd makes one for a service of its own (systemd.exec(5), RuntimeDirectory=), the login one for a person. */
function runFolder({ RUNTIME_DIRECTORY, XDG_RUNTIME_DIR }: Environment, dataFolder: string): string {
  return [RUNTIME_DIRECTORY, XDG_RUNTIME_DIR].find((folder) => folder?.startsWith("/")) ?? dataFolder;
}

/** `XDG_CONFIG_HOME`, `XDG_DATA_HOME`, `XDG_RUNTIME_DIR` and `RUNTIME_DIRECTORY` are looked at. */
export type Environment = Readonly<Record<string, string | undefined>>;

// The specification: a path that is not absolute counts as not set.
function base(variable: string | undefined, fallback: string): string {
  return variable?.startsWith("/") ? variable : join(homedir(), fallback);
}
