/**
 * The spare: a pre-forked, confined process that becomes the next player. Confinement takes 1 to 2 ms, and a fork also takes
 * time. With the spare, both are done before a tap. It is a tapdeck-confine that waits at a socket (watchdog/spare.h) for one
 * message. There is at most one spare, of the kind of the last player. A player of another kind starts without it.
 *
 * The message: the number of bytes that follow as u32, little-endian. Then the path of the program, its name and its
 * arguments in UTF-8, each with a zero after it, and the end of the stream. A spare that reads anything else ends
 * silently, so no spare outlives the service.
 */
import { closeSync, writeSync } from "node:fs";
import { spareMessageBytesMax } from "../core/limits.ts";
import { namesSamePlaces, programFor, type WaitingHelper, waitingHelper } from "./confine.ts";
import { areUnchanged } from "./player-places.ts";
import { playerEnvironment, type StartedProcess, type StartOptions, startCommand } from "./start-process.ts";

type Kind = Required<Pick<StartOptions, "hasLine" | "hasTalk" | "reach">> & Pick<StartOptions, "input">;

interface Spare extends StartedProcess {
  readonly kind: Kind;
  /** The command of the spare, with the places at its start. */
  readonly helper: WaitingHelper;
  /** The start of the last check that found all links unchanged, in milliseconds of `performance.now`. */
  checkedMs: number;
  /** The service's end of its socket. */
  readonly socket: number;
}

// This state is global, like the confinement itself.
let spare: Spare | undefined;
let coming: { readonly timer: NodeJS.Timeout; kind: Kind } | undefined;

// A player that has just started needs the processors for this time. An mpv on a board has opened its file within this time.
const startDelayMs = 100;
// The kernel ends a killed process at once, unless it waits for a device.
const endMsMax = 200;
// A check of the links is valid for this time. The spare notices changes in folders no sooner (watchdog/spare.h).
const checkMsMax = 20;

/** Checks the places of the spare ahead of a start, without blocking, so that `takeSpare` need not read the disk. */
export function checkSpare(): void {
  if (spare === undefined) return;
  const checked = spare;
  const beganMs = performance.now();
  void areUnchanged(checked.helper.links).then((are) => {
    if (are) checked.checkedMs = beganMs;
  });
}

/** Makes the spare the player `argv`. If no spare fits, the result is undefined, and the caller starts a process. */
export function takeSpare(argv: readonly string[], options: StartOptions): StartedProcess | undefined {
  if (spare === undefined || !isUsual(options) || !isSame(spare.kind, kindOf(options))) return undefined;
  const message = messageOf(argv);
  if (message === undefined || !isCurrent(spare)) return undefined;
  const taken = spare;
  spare = undefined;
  if (!isSent(message, taken.socket)) {
    letGo(taken);
    return undefined;
  }
  closeSync(taken.socket);
  taken.child.ref();
  return taken;
}

/** Starts a spare soon, for a player with these options. */
export function prepareSpare(options: StartOptions = {}): void {
  if (!isUsual(options)) return;
  const kind = kindOf(options);
  coming ??= soon(kind);
  coming.kind = kind;
}

function soon(kind: Kind) {
  const timer = setTimeout(prepare, startDelayMs);
  // The timer must not keep the process alive.
  timer.unref();
  return { timer, kind };
}

/** Replaces the spare if the places of players have changed since its start. Call it after a change of the settings. */
export function renewSpare(): void {
  if (spare === undefined || isCurrent(spare)) return;
  coming ??= soon(spare.kind);
  letGo(spare);
  spare = undefined;
}

/** Ends the spare, and the timer of the next one. */
export async function endSpare(): Promise<void> {
  clearTimeout(coming?.timer);
  coming = undefined;
  const last = spare;
  spare = undefined;
  if (last === undefined) return;
  letGo(last);
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, endMsMax);
  await Promise.race([last.child.exited, late.promise]);
  clearTimeout(timer);
}

function prepare(): void {
  const kind = coming?.kind;
  coming = undefined;
  if (kind === undefined || (spare !== undefined && isSame(spare.kind, kind) && isCurrent(spare))) return;
  if (spare !== undefined) letGo(spare);
  spare = started(kind);
}

function started(kind: Kind): Spare | undefined {
  const at = descriptorOf(kind);
  const helper = waitingHelper(kind.reach, at);
  if (helper === undefined) return undefined;
  try {
    const { child, family } = startCommand(helper.command, kind, ["pipe"]);
    const socket = child.stdio[at];
    if (typeof socket !== "number") throw new Error("must hold: a spare has a socket");
    const made: Spare = { child, family, kind, helper, socket, checkedMs: Number.NEGATIVE_INFINITY };
    child.unref();
    void child.exited.then(() => {
      if (spare !== made) return;
      spare = undefined;
      letGo(made);
    });
    return made;
  } catch {
    // The start of the next player reports the same error.
    return undefined;
  }
}

function descriptorOf({ hasLine }: Kind): number {
  return hasLine ? 4 : 3;
}

/** Whether the places of players are those at the start of the spare. */
function isCurrent({ kind, helper, checkedMs }: Spare): boolean {
  if (namesSamePlaces(helper) && performance.now() - checkedMs <= checkMsMax) return true;
  return Bun.deepEquals(waitingHelper(kind.reach, descriptorOf(kind))?.command, helper.command);
}

/** Ends a spare that was not taken, and closes its descriptors. */
function letGo({ child, kind, socket }: Spare): void {
  closeSync(socket);
  child.kill("SIGKILL");
  const line = kind.hasLine ? child.stdio[3] : undefined;
  if (typeof line === "number") closeSync(line);
  const close = async () => {
    if (typeof child.stdin === "object") await child.stdin.end();
    await child.stdout?.cancel();
    await child.stderr.cancel();
  };
  // The error EPIPE means that the spare has ended.
  close().catch(() => {});
}

/** True for a player with the service's environment and folder, and with confinement. */
function isUsual({ environment = {}, folder, reach }: StartOptions): boolean {
  return folder === undefined && reach !== "everything" && Object.keys(environment).length === 0;
}

function kindOf({ hasLine = false, hasTalk = false, reach = "network", input }: StartOptions): Kind {
  return { hasLine, hasTalk, reach, input };
}

function isSame(one: Kind, other: Kind): boolean {
  return (
    one.hasLine === other.hasLine &&
    one.hasTalk === other.hasTalk &&
    one.reach === other.reach &&
    // The inputs are compared by identity, because a player's input is always the same constant.
    one.input === other.input
  );
}

/**
 * The message to the spare; undefined if there is no such program, if its arguments are too long, or if one contains a zero.
 */
function messageOf(argv: readonly string[]): Uint8Array | undefined {
  const program = programFor(argv[0] ?? "", { path: playerEnvironment.PATH });
  if (program === null || argv.some((word) => word.includes("\0"))) return undefined;
  const words = Buffer.from([program, ...argv, ""].join("\0"));
  if (words.length > spareMessageBytesMax) return undefined;
  const message = Buffer.allocUnsafe(4 + words.length);
  message.writeUInt32LE(words.length);
  message.set(words, 4);
  return message;
}

function isSent(message: Uint8Array, socket: number): boolean {
  try {
    // The socket's empty buffer is larger than the message, so the write does not block.
    return writeSync(socket, message) === message.length;
  } catch {
    // The error EPIPE means that the spare has ended.
    return false;
  }
}
