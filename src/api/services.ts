/** What the API may ask of the rest of the service. `service.ts` builds one; each method's handler picks what it needs. */
import type { AuditEntry } from "../core/audit.ts";
import type { ActiveMedia, IndexStatus, Media, System } from "../core/media.ts";
import type { ControlAction, LaunchEntry, PlayerKind } from "../core/playback.ts";
import type { Requester, Role } from "../core/rights.ts";
import type { MappingParams, Reader, Mapping as StoredMapping, Token, TokenParams } from "../core/token.ts";
import type { PairByPin } from "./pin-pairing-endpoint.ts";

export interface Services {
  readonly platform: string;
  readonly version: string;
  /**
   * Queues a launch and returns; throws `ServiceError`: `busy` where the queue is full, and `forbidden` where the source is
   * not trusted and the script reaches outside the device.
   */
  launch(token: TokenParams, from?: { readonly trusted: boolean; readonly requester?: Requester }): void;
  /** Stops what plays, empties the queue, and returns at once. */
  stop(): void;
  /** Launches what the launch guard holds back; throws `not-found` where it holds nothing. */
  confirm(): void;
  playTime(): PlayTime;
  playlist(): Playlist | undefined;
  /**
   * Lays a virtual token on a reader for `durationMs`: on the simulated reader with this id, or, where none is given,
   * on the API's own virtual one. Throws `not-found` for an unknown reader and `invalid-params` for a real one.
   */
  scan(token: TokenParams, durationMs: number, readerId: string | undefined, requester?: Requester): void;
  tokens(): { readonly active: readonly Token[]; readonly last: Token | undefined };
  history(page: HistoryPage): readonly LaunchEntry[];
  readers(): readonly Reader[];
  /** Resolves once it stands on a tag; throws `no-reader`, `write-failed` with `data.cause`, `conflict`, or `failed`. */
  write(request: WriteRequest, signal?: AbortSignal): Promise<void>;
  /** Presses what a macro says, and resolves once all is up again; throws `invalid-params`, `busy`, or `failed`. */
  input(kind: "keyboard" | "gamepad", text: string): Promise<void>;
  /** Ends the write that waits for a tag, on this reader or on all; throws `not-found` for an unknown one. */
  cancelWrite(readerId: string | undefined): void;
  /** What plays, with what its player says of it now. */
  playback(): Promise<ActiveMedia | undefined>;
  /** Has the player of what plays do something; rejects with `failed` where nothing plays, or it cannot. */
  control(action: ControlAction): Promise<void>;
  launchers(): readonly LauncherEntry[];
  health(): Health;
  readonly media: MediaService;
  readonly mappings: MappingService;
  readonly settings: SettingsService;
  readonly clients: ClientService;
  readonly pairing: PairingService;
  readonly pairByPin: Pick<PairByPin, "open" | "cancel">;
  /** Of the audit log, newest first. */
  audit(limit: number): Promise<readonly AuditEntry[]>;
  /** The OpenRPC document of this API. */
  describe(): Promise<OpenRpcDocument>;
}

/** What may be played yet, and how loud. Minutes of 0 are no limit. */
export interface PlayTime {
  readonly enabled: boolean;
  readonly limits: PlayTimeLimits;
  readonly day: { readonly date: string } & PlayAccount;
  readonly session: PlayAccount;
  /** False while the clock shows a time that cannot be right. */
  readonly clockBelieved: boolean;
}

export interface PlayTimeLimits {
  readonly dailyMinutes: number;
  readonly sessionMinutes: number;
  readonly sessionResetMinutes: number;
  /** Percent that no card and no program may go above. */
  readonly volumeMax: number;
  readonly warningMinutes: readonly number[];
}

export interface PlayAccount {
  readonly usedMs: number;
  /** Absent where there is no limit. */
  readonly remainingMs?: number;
}

/** The playlist that is loaded. */
export interface Playlist {
  readonly path: string;
  /** Of the item that plays or is next, from 1. */
  readonly place: number;
  readonly count: number;
  readonly state: "playing" | "paused";
  readonly isShuffled: boolean;
  readonly repeat: "no" | "all" | "one";
}

/** What `readers.write` takes. */
export interface WriteRequest {
  readonly text: string;
  readonly readerId?: string | undefined;
  /** Replaces what is not ours to replace, too. */
  readonly force?: boolean | undefined;
  /** Passes over a tag that still lies there from the write before. */
  readonly newTag?: boolean | undefined;
  /** What the text becomes on the tag; a Text record where absent. */
  readonly record?: "text" | "uri" | undefined;
}

export interface MediaService {
  status(): IndexStatus;
  /** Systems that have media in the index. */
  systems(): readonly System[];
  search(query: SearchQuery): { readonly results: readonly Media[]; readonly total: number };
  /** Resolves when done; no `systems` means all. Throws `conflict` while one runs, `not-found` for an unknown system. */
  index(systems: readonly string[]): Promise<void>;
  cancel(): void;
}

export interface SearchQuery {
  readonly query: string;
  /** Empty: all. */
  readonly systems: readonly string[];
  readonly maxResults: number;
}

/** Throws `not-found` for an unknown id, `forbidden` for a mapping of a file, `invalid-params` with the field. */
export interface MappingService {
  list(): readonly Mapping[];
  add(params: MappingParams): number;
  update(id: number, changes: Changes<MappingParams>): void;
  remove(id: number): void;
}

export type Changes<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

export interface Mapping extends StoredMapping {
  /** It stands in a file of the owner's. */
  readonly readOnly?: boolean;
}

export interface SettingsService {
  read(): Settings;
  /** In memory before it returns, on the disk when it resolves. */
  update(changes: Changes<Settings & Omit<PlayTimeLimits, "warningMinutes">>): Promise<void>;
}

/** The settings that may be read and changed from afar (contract, Settings object). */
export interface Settings {
  readonly reader: readonly string[];
  readonly audioFeedback: boolean;
  readonly detectReaders: boolean;
  readonly insertMode: boolean;
  readonly insertModeBlocklist: readonly string[];
  /** Seconds. */
  readonly insertModeExitDelay: number;
  readonly consoleLogging: boolean;
  readonly debug: boolean;
  readonly rootFolder: readonly string[];
}

export interface ClientService {
  list(): readonly Client[];
  /** Throws `conflict` for a name in use, and `busy` if there are `clientsMax` already. */
  add(client: NewClient): Client;
  remove(id: string): void;
}

export interface NewClient {
  /** Empty: none. */
  readonly name: string;
  readonly role: Role;
  /** For a pairing link: the client expires if nobody uses it within `pairingLinkMs`. */
  readonly isLink: boolean;
}

/** A client that may come from afar (contract, Client object). Absent fields are empty strings. */
export interface Client {
  readonly id: string;
  readonly name: string;
  /** 64 hex characters. */
  readonly secret: string;
  readonly address: string;
  readonly role: Role;
  /** RFC 3339, as the times below. */
  readonly added: string;
  /** Absent if never. */
  readonly lastUsed?: string;
  /** Of a pairing link that nobody has used yet. */
  readonly expires?: string;
}

export interface PairingService {
  describe(): Promise<PairingFacts>;
  /** The phone that knows the code gets the role. Throws `busy` while wrong codes delay the next one. */
  open(role: Role): Promise<OpenPairing>;
  /** Throws `not-found` where none is open. */
  wait(): Promise<PairingEnd>;
  cancel(): void;
}

export interface PairingFacts {
  /** Names and addresses for links, the best first; IPv6 ones in brackets. */
  readonly hosts: readonly string[];
  readonly port: number;
  /** Of the certificate that is shown over TLS. */
  readonly fingerprint?: string;
  readonly open?: Omit<OpenPairing, "code">;
}

export interface OpenPairing {
  /** Six digits. */
  readonly code: string;
  /** RFC 3339. */
  readonly expires: string;
  readonly triesLeft: number;
}

export interface PairingEnd {
  readonly reason: "paired" | "tries" | "expired" | "cancelled";
  readonly client?: { readonly id: string; readonly name: string };
}

export interface HistoryPage {
  readonly limit: number;
  /** Only launches before this time, in milliseconds since 1970. */
  readonly beforeMs?: number;
}

export interface LauncherEntry {
  readonly id: string;
  readonly name: string;
  readonly kind: PlayerKind;
  readonly systems: readonly string[];
  readonly extensions: readonly string[];
  readonly available: boolean;
  /** A sentence; only where it is not available. */
  readonly reason?: string;
}

export interface Health {
  readonly status: "ok" | "degraded";
  readonly readers: { readonly connected: number; readonly configured: number };
  /** Seconds since the start. */
  readonly uptime: number;
  readonly checks: readonly HealthCheck[];
  /** What is shown over TLS, where it is on. */
  readonly tls?: { readonly fingerprint: string };
}

export interface HealthCheck {
  readonly name: "readers" | "database" | "disk" | "settings" | "players" | "device" | "watchdog";
  readonly ok: boolean;
  /** A sentence; only where it is not well. */
  readonly reason?: string;
}

/** Of an OpenRPC document, what every one has (OpenRPC 1.3). */
export interface OpenRpcDocument {
  readonly openrpc: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly methods: readonly { readonly name: string }[];
}
