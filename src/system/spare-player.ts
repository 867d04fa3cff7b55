/**
 * The spare: a process that becomes the next player. To confine a program costs 1 to 2 ms, and to start a process some more;
 * the spare has done both before a tap needs it. It is a tapdeck-confine that waits at a socket (watchdog/spare.h), and a tap
 * costs one message. There is one at most, of the kind that was started last; any other player starts the usual way.
 *
 * The message: the bytes of the words in 4 bytes of the processor's order, little-endian on all that we run on; then the path
 * of the program, its name and its words in UTF-8, each with a zero behind it; then the end of the stream. A spare that reads
 * anything else ends without a word, so that none outlives the service, however that ends.
 */
import { closeSync, writeSync } from "node:fs";
import { spareMessageBytesMax } from "../core/limits.ts";
import { programFor, waitingHelper } from "./confine.ts";
import { playerEnvironment } from "./player-environment.ts";
import { type Started, type StartOptions, startCommand } from "./start-process.ts";

type Kind = Required<Pick<StartOptions, "hasLine" | "hasTalk" | "reach">> & Pick<StartOptions, "input">;

interface Spare extends Started {
  readonly kind: Kind;
  /** Our end of its socket. */
  readonly socket: number;
}

// Only one, for all players: as the confinement itself, it is not handed from hand to hand.
let spare: Spare | undefined;
let coming: { readonly timer: NodeJS.Timeout; kind: Kind } | undefined;

// So long a player that has just been started has the processors for itself: an mpv on a board opens its file by then.
const startDelayMs = 100;
// The kernel ends a killed process at once, unless it waits for a device.
const endMsMax = 200;

/**
 * The spare, as the player `argv`. Undefined where there is none that fits, which changes nothing: the player is to be started
 * the usual way, and where that cannot be done the usual error tells why.
 */
export function takeSpare(argv: readonly string[], options: StartOptions): Started | undefined {
  if (spare === undefined || !isUsual(options) || !isSame(spare.kind, kindOf(options))) return undefined;
  const message = messageOf(argv);
  if (message === undefined) return undefined;
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

/** Has a spare made soon for a player like this one, or, at first, for any program. */
export function prepareSpare(options: StartOptions = {}): void {
  if (!isUsual(options)) return;
  const kind = kindOf(options);
  if (coming === undefined) coming = { timer: setTimeout(prepare, startDelayMs), kind };
  coming.kind = kind;
  // Nothing waits for it.
  coming.timer.unref();
}

/** Resolves when there is none, and none comes. */
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
  if (kind === undefined || (spare !== undefined && isSame(spare.kind, kind))) return;
  if (spare !== undefined) letGo(spare);
  spare = started(kind);
}

function started(kind: Kind): Spare | undefined {
  const at = kind.hasLine ? 4 : 3;
  const command = waitingHelper(kind.reach, at);
  if (command.length === 0) return undefined;
  try {
    const { child, family } = startCommand(command, kind, ["pipe"]);
    const socket = child.stdio[at];
    if (typeof socket !== "number") throw new Error("must hold: a spare has a socket");
    const made: Spare = { child, family, kind, socket };
    child.unref();
    void child.exited.then(() => {
      if (spare !== made) return;
      spare = undefined;
      letGo(made);
    });
    return made;
  } catch {
    // Without descriptors or processes, the next player says so itself.
    return undefined;
  }
}

/** Ends one that was not taken, and closes all that we have of it. */
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
  // EPIPE: it has ended, which is what was asked for.
  close().catch(() => {});
}

/** Whether it is the service's own environment, folder and confinement that it starts with. */
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
    // The same bytes each time: players hand over a constant.
    one.input === other.input
  );
}

/** Undefined where there is no such program, or its words are too long or cannot be told. */
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
    // It is empty and larger than the message, so that this waits for nothing.
    return writeSync(socket, message) === message.length;
  } catch {
    // EPIPE: the spare has ended.
    return false;
  }
}
