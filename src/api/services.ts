/** The functions of the service that the API may call. services/api-services.ts implements them. */

import type { AuditEntry } from "../core/audit.ts";
import type { BluetoothReport } from "../core/bluetooth-shapes.ts";
import type { BackupContent, backupFacts, backupPreview } from "../core/device-shapes.ts";
import type { Fault } from "../core/faults.ts";
import type { LogRing } from "../core/log-ring.ts";
import type {
  ActiveMedia,
  BrowseQuery,
  IndexStatus,
  MediaAnswer,
  MediaQuery,
  MediaTag,
  PictureType,
  System,
} from "../core/media.ts";
import type { ControlAction, LaunchEntry } from "../core/playback.ts";
import type { Grant, Requester, Role } from "../core/rights.ts";
import type { ListedMapping, LoadedPlaylist, RefusedReader, TappedCard, ValueOf } from "../core/shapes.ts";
import type { ShareReport } from "../core/share-shapes.ts";
import type { MappingParams, Reader, Token, TokenParams } from "../core/token.ts";
import type { WifiReport, WifiRequest } from "../core/wifi-shapes.ts";
import type { MethodCaller } from "./connection.ts";
import type * as deviceSchemas from "./device-schemas.ts";
import type { PairByPin } from "./pin-pairing-endpoint.ts";
import type * as schemas from "./schemas.ts";

export type ClientEntry = ValueOf<typeof schemas.client>;
export type PairingOpening = ValueOf<typeof schemas.pairingOpening>;
export type PairingEnd = ValueOf<typeof schemas.pairingEnd>;
export type Health = ValueOf<typeof deviceSchemas.healthReport>;
export type HealthCheck = Health["checks"][number];
export type ApiSettings = ValueOf<typeof schemas.apiSettings>;
export type OpenRpcDocument = ValueOf<typeof deviceSchemas.openRpcDocument>;
type PlayTimeState = ValueOf<typeof schemas.playTimeState>;

export interface Services {
  readonly platform: string;
  readonly version: string;
  /**
   * Queues a launch and returns. Throws `busy` if the queue is full, and `forbidden` if the source is not trusted and the
   * script reaches outside the device.
   */
  launch(token: TokenParams, from?: { readonly trusted: boolean; readonly requester?: Requester }): void;
  /** Stops the player, empties the queue, and returns at once. */
  stop(): void;
  readonly sleepTimer: {
    /** The time in milliseconds; 0 ends the timer. */
    set(ms: number): void;
    /** The end of the timer in RFC 3339; undefined if none runs. */
    endsAt(): string | undefined;
  };
  /** Launches the card that the launch guard holds back. Throws `not-found` if there is none. */
  confirm(): void;
  playTime(): PlayTimeState;
  /** The loaded playlist. The result includes items, from the place `from` on, only if `from` is given. */
  playlist(from?: number): LoadedPlaylist | undefined;
  /**
   * Puts a virtual token on a reader for `durationMs`: on the simulated reader with this id, or on the API's own virtual
   * reader. Throws `not-found` for an unknown reader and `invalid-params` for a real one.
   */
  scan(token: TokenParams, durationMs: number, readerId: string | undefined, requester?: Requester): void;
  tokens(): { readonly active: readonly Token[]; readonly last: Token | undefined };
  /**
   * A page of the launches before `beforeMs`, in milliseconds since 1970. With a UID, only launches of that card are in
   * it. `nextCursor` leads to the next page.
   */
  history(page: {
    readonly limit: number;
    readonly beforeMs?: number;
    readonly cursor: string | undefined;
    readonly uid: string;
  }): { readonly entries: readonly LaunchEntry[]; readonly nextCursor: string | undefined };
  /** The cards of the history, the newest first. */
  cards(limit: number): readonly TappedCard[];
  readers(): readonly Reader[];
  /** The readers that are not connected, and the ports that did not open as a reader. */
  refusedReaders(): readonly RefusedReader[];
  /** Resolves after the tag is written. Rejects with `no-reader`, `write-failed` with `data.cause`, `conflict` or `failed`. */
  write(request: ValueOf<typeof schemas.writeRequest>, signal?: AbortSignal): Promise<void>;
  /**
   * Plays a macro, and resolves after its last key is released. It presses no further key once `mayPress` returns false.
   * Rejects with `invalid-params`, `busy` or `failed`.
   */
  input(kind: "keyboard" | "gamepad", text: string, mayPress: () => boolean): Promise<void>;
  /** Ends the write that waits for a tag, on this reader or on all. Throws `not-found` for an unknown reader. */
  cancelWrite(readerId: string | undefined): void;
  /** The media that plays, with the state that its player reports now. */
  playback(): Promise<ActiveMedia | undefined>;
  /** Controls the running player. Rejects with `failed` if nothing plays, or the player cannot do it. */
  control(action: ControlAction, caller: MethodCaller): Promise<void>;
  /**
   * Saves a picture of the device's output. A picture of the device's own screen requires the right `own`. `maxSize` is
   * the longest edge in pixels. Rejects with `busy` while another picture is taken, and with `failed`.
   */
  screenshot(maxSize: number | undefined, caller: MethodCaller): Promise<ValueOf<typeof schemas.screenshot>>;
  launchers(): readonly ValueOf<typeof schemas.launcherEntry>[];
  /** Resolves within two seconds, even if a media folder does not answer. */
  health(): Promise<Health>;
  /** Facts about the machine. Resolves within two seconds, even if a folder does not answer. */
  device(): Promise<ValueOf<typeof deviceSchemas.deviceReport>>;
  /** The server of updates; undefined if the settings name none. */
  updates(): Health["updates"];
  /** Each rejects with `failed` if this machine cannot do it, and with `conflict` while an update is being installed. */
  readonly machine: {
    restart(): Promise<void>;
    shutdown(): Promise<void>;
    /** Without an address, installs the version that the server of updates offers. */
    update(url?: string): void;
  };
  /** The newest lines of the log. */
  readonly logs: Pick<LogRing, "follow">;
  readonly media: MediaService;
  readonly library: LibraryService;
  readonly uploads: UploadService;
  readonly mappings: MappingService;
  /** The shared cards in use; undefined if the settings name no address. */
  sharedCards(): ValueOf<typeof schemas.sharedCards> | undefined;
  readonly settings: SettingsService;
  readonly clients: ClientService;
  readonly pairing: PairingService;
  readonly backup: BackupService;
  readonly broker: BrokerService;
  readonly buttons: ButtonService;
  readonly wifi: WifiService;
  readonly bluetooth: BluetoothService;
  readonly share: ShareService;
  readonly pairByPin: Pick<PairByPin, "open" | "cancel">;
  /** The entries of the audit log, newest first. */
  audit(limit: number): Promise<readonly AuditEntry[]>;
  /** The OpenRPC document of this API. */
  describe(): OpenRpcDocument | Promise<OpenRpcDocument>;
}

/** Rejects with `failed` and a sentence, and with `conflict` once a restore is decided. */
export interface BackupService {
  /** Makes a backup to download. With `before`, the backup stays on the device. */
  make(passphrase: string | undefined, before: "update" | undefined): Promise<ValueOf<typeof backupFacts>>;
  /** Returns the backup that was made last, and deletes it. Rejects with `not-found` if there is none. */
  take(): Promise<{ readonly bytes: number; readonly stream: ReadableStream<Uint8Array> }>;
  /** A part of the backup that was made last; the backup is deleted after its last part. Rejects with `not-found`. */
  read(offset: number): Promise<{ readonly bytes: number; readonly data: Uint8Array }>;
  /**
   * Keeps a backup for `restore`, and returns its content; checks all of it. With `isRemote`, the content lacks the
   * settings that `restore` with `isRemote` would not change.
   */
  give(body: ReadableStream<Uint8Array>, isRemote: boolean): Promise<ValueOf<typeof backupPreview>>;
  /** Keeps a part for `preview`; the first part, at 0, begins a new one. Rejects with `conflict` if parts are missing before it. */
  send(offset: number, part: Uint8Array): Promise<void>;
  /** Like `give`, for the parts that were sent. */
  preview(isRemote: boolean): Promise<ValueOf<typeof backupPreview>>;
  /** Resolves when the restore is decided; the service then starts again. Rejects with `not-found` for another backup. */
  restore(
    sha256: string,
    passphrase: string | undefined,
    isRemote: boolean,
  ): Promise<BackupContent & { readonly kept: string; readonly folder: string }>;
}

/** A button of the settings. Without `device`, the button is one of every device. */
interface ButtonPlaceParams {
  readonly device?: string | undefined;
  readonly key: string;
}

interface ButtonService {
  list(): readonly { readonly device?: string; readonly key: string; readonly script: string }[];
  /** Rejects with `conflict` or `busy`. The result is empty if no button was pressed. */
  learn(
    caller: Pick<MethodCaller, "gone">,
    waitMs: number,
  ): Promise<{ readonly device?: string; readonly key?: string }>;
  /** Ends the teaching that waits for a press. */
  cancel(): void;
  /** Rejects with `failed` if the config file cannot be changed. */
  save(button: ButtonPlaceParams & { readonly script: string }): Promise<void>;
  remove(button: ButtonPlaceParams): Promise<void>;
}

export interface BrokerService {
  facts(): {
    readonly url: string;
    readonly user: string;
    readonly hasPassword: boolean;
    readonly hasCa: boolean;
    readonly discovery: string;
    readonly role: string;
    readonly id: string;
    /** True if `tapdeck.conf` names the broker. */
    readonly isSetByImage: boolean;
    readonly connected: boolean;
  } & BrokerFault;
  /** Rejects with `failed` for settings that name no broker, and `conflict` if `tapdeck.conf` names the broker. */
  update(changes: {
    readonly url?: string | undefined;
    readonly user?: string | undefined;
    readonly password?: string | undefined;
    readonly ca?: string | undefined;
    readonly discovery?: string | undefined;
    readonly role?: Role | undefined;
    readonly id?: string | undefined;
  }): Promise<void>;
  /** Connects once beside the present connection. Rejects with `failed` if no broker is named. */
  test(): Promise<{ readonly connected: boolean } & BrokerFault>;
}

/** The Wi-Fi of the image. All but `report` reject with `failed` elsewhere. */
interface WifiService {
  report(): WifiReport;
  scan(): Promise<void>;
  join(request: WifiRequest): Promise<void>;
  /** Reject with `not-found` if no network of this id was set up here. */
  prefer(network: { readonly id: string }): Promise<void>;
  forget(network: { readonly id: string }): Promise<void>;
  open(): Promise<void>;
}

/** Bluetooth on the image. All but `report` reject with `failed` on other machines, and without a radio. */
interface BluetoothService {
  report(): BluetoothReport;
  search(): Promise<void>;
  /** Reject with `not-found` if `report` has no such device. */
  pair(device: { readonly address: string }): Promise<void>;
  forget(device: { readonly address: string }): Promise<void>;
}

/** The share of the media folder for PCs, on the image. All but `report` reject with `failed` elsewhere. */
interface ShareService {
  report(): ShareReport;
  set(request: { readonly password: string }): Promise<void>;
  remove(): Promise<void>;
}

interface BrokerFault {
  readonly fault?: Fault;
  /** The fault as a sentence. */
  readonly reason?: string;
}

interface MediaService {
  status(): IndexStatus;
  /** Systems that have media in the index. */
  systems(): readonly System[];
  search(query: MediaQuery): MediaAnswer;
  /**
   * Resolves when the run has ended; absent `systems` means all. Rejects with `conflict` while another run is in
   * progress, and with `not-found` for an unknown system.
   */
  index(systems: readonly string[]): Promise<void>;
  cancel(): void;
}

/** The screens of the library. Absent `systems` means all. */
export interface LibraryService {
  /** Rejects with `invalid-params`, with `not-found` for an unknown folder, and with `busy`. */
  browse(query: BrowseQuery, caller: MethodCaller): Promise<ValueOf<typeof schemas.browsePage>>;
  /** The results of a search that meet the conditions of `BrowseQuery`. Rejects with `invalid-params` and `busy`. */
  taggedSearch(query: MediaQuery, tags: readonly string[], caller: MethodCaller): Promise<MediaAnswer>;
  /** Folders whose own name has each word of the query. Rejects with `busy`. */
  folders(
    query: string,
    maxResults: number,
    caller: MethodCaller,
  ): Promise<ValueOf<typeof schemas.foundFolders>>;
  /** Rejects with `not-found` if there is no picture, `failed` if it is too large, and `busy`. */
  image(
    request: {
      readonly path: string;
      /** The id of the system; may be empty. */
      readonly system: string;
      /** The wanted types of pictures, the best first. */
      readonly types: readonly PictureType[];
      readonly maxSize: number | undefined;
    },
    caller: MethodCaller,
  ): Promise<ValueOf<typeof schemas.picture>>;
  /** Rejects with `busy`. */
  tags(systems: readonly string[], caller: MethodCaller): Promise<readonly MediaTag[]>;
  /** Rejects with `not-found` for an unknown system. */
  lookup(system: string, name: string): Promise<ValueOf<typeof schemas.lookedUp> | undefined>;
  /** The favourites in the order in which they were chosen. */
  favourites(): ValueOf<typeof schemas.favourites>;
  /** Rejects with `failed` for a path without a file or folder, and with `busy` at the limit. */
  setFavourite(path: string, isFavourite: boolean): Promise<void>;
  history(page: {
    readonly limit: number;
    readonly cursor: string | undefined;
    readonly systems: readonly string[];
    readonly isDistinct: boolean;
  }): ValueOf<typeof schemas.playsPage>;
  /** The files that were played longest since `sinceMs`, in milliseconds since 1970. */
  top(asked: {
    readonly limit: number;
    readonly systems: readonly string[];
    /** `systems` may be ids, names or folders, in any spelling. */
    readonly anySpelling: boolean;
    readonly sinceMs: number;
  }): ValueOf<typeof schemas.topPlays>;
}

/** Rejects with a sentence: `not-found`, `conflict`, `busy` or `failed`. */
export interface UploadService {
  start(
    file: {
      readonly system: string;
      readonly path: string;
      readonly size: number;
      readonly replace: boolean;
    },
    caller: MethodCaller,
  ): Promise<ListedUpload & { readonly key: string }>;
  /** The uploads that the caller may continue. */
  list(
    caller: MethodCaller,
  ): Promise<{ readonly uploads: readonly ListedUpload[]; readonly freeBytes: number }>;
  /** All known systems. */
  systems(): readonly {
    readonly id: string;
    readonly name: string;
    readonly folders: readonly string[];
    readonly extensions: readonly string[];
  }[];
  /** The paired client that started the upload last. */
  clientOf(id: string): string | undefined;
  /**
   * Writes a body; `onBytes` is called for each part of it that is intact. If `by` is `sealed`, the key of the upload
   * has proved the sender. Otherwise the caller in `by` must be the one that sends the file.
   */
  write(
    at: { readonly id: string; readonly offset: number; readonly by: "sealed" | UploadCaller },
    pieces: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    onBytes: () => void,
  ): Promise<WrittenUpload>;
  finish(id: string, sha256: string, caller: MethodCaller): Promise<{ readonly path: string }>;
  cancel(id: string, caller: MethodCaller): Promise<void>;
  /** Deletes a media file. */
  remove(path: string): Promise<void>;
  move(path: string, system: string, caller: MethodCaller): Promise<{ readonly path: string }>;
}

type UploadCaller = Pick<MethodCaller, "from" | "grant">;

type ListedUpload = ValueOf<typeof schemas.upload>;

type WrittenUpload =
  | { readonly kind: "written"; readonly offset: number }
  /** The upload continues at another offset. */
  | { readonly kind: "elsewhere"; readonly offset: number }
  /** There is no such upload, or the caller may not continue it. */
  | { readonly kind: "unknown" }
  /** A frame cannot be decrypted. */
  | { readonly kind: "forged" };

/** Throws `not-found` for an unknown id, `forbidden` for a mapping in a file, `invalid-params` with the field. */
interface MappingService {
  list(): readonly ListedMapping[];
  add(params: MappingParams): number;
  /** The reason why this text would start nothing now; undefined if it would start. */
  warningOf(text: string): Promise<string | undefined>;
  update(id: number, changes: FieldChanges<MappingParams>): void;
  remove(id: number): void;
  exported(format: MappingFormat): string;
  /** Stores all mappings of a text or none. Also throws `conflict` and `busy`; `data.faults` has the lines. */
  import(text: {
    readonly format: MappingFormat;
    readonly content: string;
    readonly replace: boolean;
  }): Promise<{
    readonly added: readonly { readonly line: number; readonly params: MappingParams }[];
    readonly removed: number;
    readonly notes: readonly LineNote[];
  }>;
  /**
   * The ids of the mappings that match, the id of the one that is used, and the text to launch. The id of a new draft is
   * 0.
   */
  test(
    token: TokenParams,
    draft?: MappingParams & { readonly id?: number },
  ): { readonly matches: readonly number[]; readonly script: string };
  /** Reads the mapping files that changed. A file with a fault is logged, and its last valid mappings stay. */
  reload(): Promise<void>;
}

type MappingFormat = "toml" | "csv";
type LineNote = ValueOf<typeof schemas.lineNote>;
type FieldChanges<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

interface SettingsService {
  read(): ApiSettings;
  /** Every setting with its explanation. `api` is the name of its field in `read`, or in the limits of play time. */
  describe(): readonly (Omit<ValueOf<typeof deviceSchemas.settingFacts>, "name" | "value" | "right"> & {
    readonly api?: string;
  })[];
  /** Applies the changes before it returns; they are on the disk when it resolves. Logs the names of `unknown` settings. */
  update(
    changes: FieldChanges<ApiSettings & PlayTimeState["limits"]>,
    unknown?: readonly string[],
  ): Promise<void>;
  /** Reads the config file again. Rejects with `failed` if it has a fault. */
  reload(): Promise<void>;
}

export interface ClientService {
  list(): readonly ClientEntry[];
  /** Throws `conflict` for a name in use, and `busy` if there are `clientsMax` already. */
  add(client: ClientRequest): ClientEntry;
  remove(id: string): void;
  /**
   * Ends the sessions of the client if it gets another role. Throws `failed` for a client of version 1, and `conflict`
   * for a name in use.
   */
  update(id: string, changes: { readonly name?: string | undefined; readonly role?: Role | undefined }): void;
  /** Restores a client that was removed within `revocationUndoMs`. Throws `not-found` if there is none. */
  restore(id: string): void;
  /** Whether the client can be restored now. */
  isRestorable(id: string): boolean;
  /** Throws `forbidden` if no other client is an owner. */
  refuseLastOwner(id: string): void;
}

interface ClientRequest {
  /** The name of the client; empty for none. */
  readonly name: string;
  readonly role: Role;
  /** True for a client of a pairing link, which expires if nobody uses it within `pairingLinkMs`. */
  readonly isLink: boolean;
}

export interface PairingService {
  describe(): Promise<ValueOf<typeof schemas.pairingFacts>>;
  /**
   * The phone that knows the code gets the role, if the opener still has the right `own` at that time. Rejects with
   * `busy` while wrong codes delay the next one.
   */
  open(role: Role, host: string | undefined, grant: () => Grant): Promise<PairingOpening>;
  /** Rejects with `not-found` if no pairing is open. */
  wait(): Promise<PairingEnd>;
  cancel(): void;
}
