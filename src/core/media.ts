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
}

/** A system: the console, or the kind of media, that files are grouped under (contract, System object). */
export interface System {
  readonly id: string;
  readonly name: string;
  readonly category: string;
}
