/** The config file as the service holds it: every key with its meaning and default (decisions, "The config file"). */

export interface Config {
  readonly api: {
    readonly port: number;
    /** Addresses to listen on; empty means all. */
    readonly listen: readonly string[];
    readonly allowedHosts: readonly string[];
    readonly allowedOrigins: readonly string[];
    readonly allowAnonymousLocal: boolean;
  };
  readonly readers: {
    /** Connection strings `driver:path`. */
    readonly connect: readonly string[];
    readonly detect: boolean;
  };
  readonly log: { readonly console: boolean; readonly debug: boolean };
  /** Absolute folders that hold media, in order of preference. */
  readonly systems: { readonly rootFolders: readonly string[] };
  readonly launchers: readonly LauncherConfig[];
}

export interface LauncherConfig {
  readonly id: string;
  /** System ids it plays; empty means any. */
  readonly systems: readonly string[];
  /** Lower case, with their dot; empty means any. */
  readonly extensions: readonly string[];
  /** The program and its arguments; `{path}` stands for the file. No shell reads it. */
  readonly command: readonly string[];
}

/** The defaults; `rootFolders` is the data folder's `media` and so filled in by the reader. */
export const defaultConfig: Config = {
  api: { port: 7497, listen: [], allowedHosts: [], allowedOrigins: [], allowAnonymousLocal: false },
  readers: { connect: [], detect: true },
  log: { console: true, debug: false },
  systems: { rootFolders: [] },
  launchers: [],
};
