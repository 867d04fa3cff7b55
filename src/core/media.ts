/** Media that a player of ours is playing (decisions, "Objects"). */
export interface ActiveMedia {
  readonly systemId: string;
  readonly systemName: string;
  /** Absolute path of the file. */
  readonly mediaPath: string;
  /** File name without extension. */
  readonly mediaName: string;
  readonly launcherId: string;
  /** RFC 3339. */
  readonly started: string;
  /** Of players that tell: how far it is, how long it is, and what it does. */
  readonly positionMs?: number;
  readonly durationMs?: number;
  readonly playbackState?: PlaybackState;
  /** How loud it is, in percent. */
  readonly volume?: number;
}

/** What was started, as much as it takes to start it once more. */
export interface StartedMedia {
  /** Absolute; empty where a system was started without a file. */
  readonly path: string;
  readonly systemId: string;
  readonly launcherId: string;
}

/** `loading`: it was started and shows nothing yet; `buffering`: it waits for more of the file. */
export const playbackStates = ["loading", "playing", "paused", "buffering"] as const;
export type PlaybackState = (typeof playbackStates)[number];

/** A system: the console, or the kind of media, that files are grouped under (contract, System object). */
export interface System {
  readonly id: string;
  readonly name: string;
  readonly category: string;
}

/** A file of the index (contract, Media object). */
export interface Media {
  readonly system: System;
  /** File name without extension. */
  readonly name: string;
  /** `<system id>/<path below the system's folder>` where it has that form. */
  readonly path: string;
  readonly tags: readonly string[];
  /** A script that launches it. */
  readonly zapScript: string;
}

/** A folder that holds media of one system, wherever it lies. */
export interface SystemFolder {
  /** Its id, or another of its names. */
  readonly system: string;
  /** Absolute. */
  readonly folder: string;
}

/** Files and folders of the service itself. None of them is played or indexed, whatever the media folders are. */
export interface ClosedPlaces {
  /** Absolute; with all that is below them. */
  readonly folders: readonly string[];
  /** Absolute. */
  readonly files: readonly string[];
  /** A folder below one of `folders` that holds media all the same. A link in its place counts as closed. */
  readonly open: string;
}

/** Where media lie. */
export interface MediaFolders {
  /** Absolute folders that hold one folder a system, in order of preference. */
  readonly roots: readonly string[];
  /** Asked behind the roots, in this order. */
  readonly own: readonly SystemFolder[];
  /** Folders in which USB sticks appear; absent for none. */
  readonly removable?: readonly string[];
  /** Of the sticks that are plugged in: asked behind the roots, and laid out as these. */
  readonly sticks?: readonly string[];
  /** Absent where only the kernel's folders are closed. */
  readonly closed?: ClosedPlaces;
}

/** What settles which of several files of one title is meant. */
export interface TitlePreferences {
  /** As they stand in names, the best first: `USA`, `Europe`. */
  readonly regions: readonly string[];
  /** `En`, `Fr`. */
  readonly languages: readonly string[];
}

/** The state of the index (decisions, "Objects"). Counts are absent until they are known. */
export interface IndexStatus {
  readonly exists: boolean;
  readonly indexing: boolean;
  readonly optimizing: boolean;
  readonly totalSteps?: number;
  readonly currentStep?: number;
  readonly currentStepDisplay?: string;
  readonly totalFiles?: number;
  readonly totalMedia?: number;
}
