/**
 * The functions of the operating system that the service uses: console modes, descriptors, virtual input devices,
 * watches on folders, the television, buttons.
 */

/** The contents of the console: the kernel's text, or only the drawing of a program. */
type ConsoleMode = "text" | "graphics";

/** Sets the mode of the terminal at `path`. Returns false if `path` is no terminal, or not this user's. */
export type SetConsole = (path: string, mode: ConsoleMode) => boolean;

/** The sentence for EMFILE and ENFILE. */
export const noDescriptors =
  "too many files and connections are open at once: the service's limit (nofile) is used up, try again in a minute";

/** The descriptors of this process. Remote connections must not use them up. */
export interface Descriptors {
  /** The system's limit. */
  readonly limit: number;
  /** A lower bound of the number in use; infinity if no descriptor is free. */
  used(): number;
  /** The number in use; infinity if it cannot be read. Reading it takes milliseconds if there are thousands. */
  count(): number;
}

/** A virtual device of keys and buttons, each by its number in linux/input-event-codes.h. */
export interface InputDeviceShape {
  /** At most 79 bytes, as programs list it. */
  readonly name: string;
  /** Distinguishes our devices, 0 to 65535. */
  readonly product: number;
  readonly keys: readonly number[];
}

export interface InputDevice {
  /** Presses or releases these keys in order. Throws `ServiceError("failed")` if the device is gone. */
  turn(codes: readonly number[], isDown: boolean): void;
  /** Removes the device and releases its keys. A second call does nothing. */
  close(): void;
}

/**
 * Makes a device, and resolves after programs had the time to open it. Rejects with `ServiceError("failed")`, which says
 * what is missing, or with the signal's reason. In both cases there is no device.
 */
export type OpenInputDevice = (shape: InputDeviceShape, signal: AbortSignal) => Promise<InputDevice>;

export type InputKind = "keyboard" | "gamepad";

export type InputStep =
  | { readonly kind: "down" | "up"; readonly codes: readonly number[] }
  | { readonly kind: "wait"; readonly ms: number };

/** The process that connected a socket in the file system, as the kernel noted it then. */
export interface SocketPeer {
  /** The process id; 0 if the process is in a namespace that this process does not see. */
  readonly pid: number;
  readonly uid: number;
}

/** A connection of this process that it has accepted at a socket in the file system. */
export interface AcceptedSocket {
  readonly descriptor: number;
  /** The number is unique: no other socket ever has it, even after this one is closed. */
  readonly cookie: bigint;
}

export interface LocalSockets {
  /** The connections that were accepted at this path and are open. */
  acceptedAt(path: string): readonly AcceptedSocket[];
  /** The result of `look` for the process that connected; undefined if that process has ended, or cannot be named. */
  lookAtPeer<Found>(socket: AcceptedSocket, look: (peer: SocketPeer) => Found): Found | undefined;
  /** Sends `farewell`, and ends the connection in both directions. The runtime then closes it. */
  end(socket: AcceptedSocket, farewell: string): void;
}

/**
 * A change in a watched folder. After `overflow` some changes are missing, and `watch` is -1. After `ended` the number of
 * the watch may be given to another one.
 */
export interface FolderEvent {
  readonly kind: "appeared" | "left" | "written" | "ended" | "overflow";
  readonly watch: number;
  /** The name in the folder. */
  readonly name: string;
  readonly isFolder: boolean;
}

export interface FolderWatches {
  /** Returns the number of the watch, equal for two paths of one folder; undefined if the kernel refuses. */
  add(path: string): number | undefined;
  remove(watch: number): void;
  close(): void;
}

/** Throws if the kernel gives no watches. */
export type OpenFolderWatches = (onEvents: (events: readonly FolderEvent[]) => void) => FolderWatches;

/** The line to a television over HDMI. Messages are those of CEC (HDMI 1.4b, supplement 1). */
export interface TelevisionLine {
  /** The socket of the television, such as 0x1000; undefined without a television. */
  physicalAddress(): number | undefined;
  /** Queues a message, its opcode first, for a logical address. False if the kernel refuses it. */
  send(to: number, message: readonly number[]): boolean;
  /** Calls the listener when messages wait; it must receive them. There is one listener. */
  onMessages(listener: () => void): void;
  /** The messages since the last call, each with its header: sender and receiver in four bits each. */
  receive(): readonly Uint8Array[];
  close(): void;
}

/**
 * Opens the adapter at `path` under this name, which the television shows; undefined if there is no adapter, or it
 * cannot be opened.
 */
export type OpenTelevision = (path: string, name: string) => TelevisionLine | undefined;

/** A press of a key or button, or a turn of a knob by so many steps, negative to the left. */
export interface ButtonEvent {
  readonly kind: "key" | "turn";
  /** The number in linux/input-event-codes.h. */
  readonly code: number;
  readonly steps: number;
}

/** The facts about an input device before its events are read. */
export interface ButtonFacts {
  readonly name: string;
  has(button: Pick<ButtonEvent, "kind" | "code">): boolean;
}

export interface ButtonDevice {
  readonly name: string;
  close(): void;
}

/**
 * Opens the device at `path` if it is wanted, and reports its presses and turns; undefined if the device is not wanted
 * or cannot be opened.
 */
export type OpenButtons = (
  path: string,
  isWanted: (device: ButtonFacts) => boolean,
  listener: { readonly event: (event: ButtonEvent) => void; readonly gone: () => void },
) => ButtonDevice | undefined;

/**
 * The act of a key of a controller, a keyboard or a remote control in a menu. `enter` is the Enter key of a keyboard,
 * which card readers that type also press.
 */
export type MenuKey =
  | "up"
  | "down"
  | "left"
  | "right"
  | "ok"
  | "enter"
  | "back"
  | "menu"
  | "next-page"
  | "previous-page";

export interface MenuKeyEvent {
  readonly key: MenuKey;
  readonly isDown: boolean;
}

/**
 * Opens the device at `path` if it has keys for a menu, and reports their presses; undefined if it has no such keys or
 * cannot be opened.
 */
export type OpenMenuKeys = (
  path: string,
  isWanted: (device: Pick<ButtonFacts, "name">) => boolean,
  listener: { readonly event: (event: MenuKeyEvent) => void; readonly gone: () => void },
) => ButtonDevice | undefined;
