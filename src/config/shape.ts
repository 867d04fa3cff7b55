/** The config file as the service holds it: every key with its meaning and default (decisions, "The config file"). */

import type { MediaFolders, SystemFolder, TitlePreferences } from "../core/media.ts";
import type { PlayerKind, StopHow } from "../core/playback.ts";
import type { Grant } from "../core/rights.ts";

export interface Config {
  readonly api: {
    readonly port: number;
    /** Addresses to listen on; empty means all. */
    readonly listen: readonly string[];
    /** 0: no TLS. */
    readonly tlsPort: number;
    /** Who may launch over GET: nobody, anybody, or texts that one of these patterns matches as a whole. */
    readonly allowLaunch: boolean | readonly string[];
    readonly allowedHosts: readonly string[];
    readonly allowedOrigins: readonly string[];
    readonly allowAnonymousLocal: boolean;
    /** The grant of a caller over TLS without an identity; never `own`. */
    readonly anonymous: Exclude<Grant, "own">;
    /** Whether clients that know version 1 of the secure layer only may pair and come in. */
    readonly allowV1Clients: boolean;
  };
  readonly readers: {
    /** Connection strings `driver:path`. */
    readonly connect: readonly string[];
    readonly detect: boolean;
    /** Hold mode: removing the card stops what it started. */
    readonly insertMode: boolean;
    /** System ids that hold mode never stops. */
    readonly insertModeBlocklist: readonly string[];
    /** Seconds. */
    readonly insertModeExitDelay: number;
  };
  readonly audio: {
    readonly feedback: boolean;
    /** Percent that no card and no program may go above. */
    readonly volumeMax: number;
  };
  readonly log: { readonly console: boolean; readonly debug: boolean };
  readonly systems: {
    /** Absolute folders that hold media, in order of preference: the file's, or the default. */
    readonly rootFolders: readonly string[];
    /** The ones that the file states; empty where it states none. */
    readonly statedRootFolders: readonly string[];
    /** Folders of single systems, beside the root folders. */
    readonly folders: readonly SystemFolder[];
    /** Folders in which the system mounts USB sticks, a folder each. */
    readonly removableFolders: readonly string[];
    /** Which of several files of one title is meant. */
    readonly prefer: TitlePreferences;
  };
  /** Patterns, as texts, of what scripts may do outside the device. */
  readonly script: {
    readonly allowExecute: readonly string[];
    readonly allowHttp: readonly string[];
    /** Whether cards and callers may press keys of the virtual keyboard and gamepad. */
    readonly allowInput: boolean;
  };
  readonly launch: {
    /** While something plays, a card must be put on twice before it switches. */
    readonly guard: boolean;
  };
  readonly retroarch: {
    /** A game goes on where its last end left it. */
    readonly resume: boolean;
    /** The folder that keeps what games save; RetroArch's own settings decide where it is absent. */
    readonly saves?: string;
  };
  readonly playtime: PlayTimeLimits;
  readonly hooks: Hooks;
  readonly launchers: readonly LauncherConfig[];
}

/** Where media lie, as the config says it. */
export function mediaFolders({ systems }: Config): MediaFolders {
  const { rootFolders, folders, removableFolders } = systems;
  return {
    roots: rootFolders,
    own: folders,
    ...(removableFolders.length === 0 ? {} : { removable: removableFolders }),
  };
}

/** The names that launchers and folders give to systems. */
export function configuredSystems({ launchers, systems }: Config): readonly string[] {
  return [
    ...launchers.flatMap((launcher) => launcher.systems),
    ...systems.folders.map(({ system }) => system),
  ];
}

/** Limits for a family, in minutes; 0 means none. */
export interface PlayTimeLimits {
  readonly dailyMinutes: number;
  readonly sessionMinutes: number;
  /** A pause of so long begins a new session. */
  readonly sessionResetMinutes: number;
  /** How many minutes before the end a warning is sent. */
  readonly warningMinutes: readonly number[];
}

/** Launch scripts that run beside a tap or a launch; absent where there is none. */
export interface Hooks {
  readonly onScan?: string;
  readonly onRemove?: string;
  readonly beforeStart?: string;
  readonly onStart?: string;
  readonly onStop?: string;
}

export interface LauncherConfig {
  readonly id: string;
  /** System ids it plays; empty means any. */
  readonly systems: readonly string[];
  /** Lower case, with their dot; empty means any. */
  readonly extensions: readonly string[];
  /** The program and its arguments; `{path}` stands for the file. No shell reads it. */
  readonly command: readonly string[];
  /** How it is spoken with; a plain process where absent. */
  readonly kind?: PlayerKind;
  /** Added to the environment of the service. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The folder that it works in; the service's own where absent. */
  readonly folder?: string;
  /** Of RetroArch: the name of a libretro core, or its file; where absent, the usual one of the system. */
  readonly core?: string;
  /** It may read what the service keeps secret: its owner trusts it with what it plays. */
  readonly isUnconfined?: true;
  /** How it is ended, where that is not the usual way. */
  readonly stop?: StopHow;
}

/** The defaults; `rootFolders` is the data folder's `media` and so filled in by the reader. */
export const defaultConfig: Config = {
  api: {
    port: 7497,
    listen: [],
    tlsPort: 7498,
    allowLaunch: false,
    allowedHosts: [],
    allowedOrigins: [],
    allowAnonymousLocal: false,
    anonymous: "play",
    allowV1Clients: false,
  },
  readers: {
    connect: [],
    detect: true,
    insertMode: false,
    insertModeBlocklist: [],
    insertModeExitDelay: 0,
  },
  audio: { feedback: true, volumeMax: 100 },
  log: { console: true, debug: false },
  systems: {
    rootFolders: [],
    statedRootFolders: [],
    folders: [],
    removableFolders: [],
    prefer: { regions: ["World", "USA", "Europe", "Japan"], languages: ["En"] },
  },
  script: { allowExecute: [], allowHttp: [], allowInput: false },
  launch: { guard: false },
  retroarch: { resume: true },
  playtime: { dailyMinutes: 0, sessionMinutes: 0, sessionResetMinutes: 20, warningMinutes: [5, 1] },
  hooks: {},
  launchers: [],
};
