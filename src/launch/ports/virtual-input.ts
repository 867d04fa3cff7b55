/**
 * Plays macros of scripts and the API on virtual keyboards and gamepads. A device is made at its first use and kept,
 * because programs need a moment to detect one. It plays one macro at a time, because two would mix their keys.
 */
import { type Clock, sleep } from "../../core/clock.ts";
import { failed, publicError, ServiceError } from "../../core/errors.ts";
import { macrosWaitingMax } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import type {
  InputDevice,
  InputDeviceShape,
  InputKind,
  InputStep,
  OpenInputDevice,
} from "../../core/operating-system.ts";
import { createSerialQueue } from "../../core/serial-queue.ts";
import { codesOf, gamepad, inputTables, keyboard } from "../../script/input-keys.ts";
import { readMacro } from "../../script/input-macro.ts";

export type VirtualInput = ReturnType<typeof createVirtualInput>;

interface VirtualInputParts {
  readonly open: OpenInputDevice;
  /** The setting `script.allow_input`, read at each use. */
  readonly isAllowed: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

// The parameters of the two API methods.
const paramNames: Readonly<Record<InputKind, string>> = { keyboard: "keys", gamepad: "buttons" };
const shapes: Readonly<Record<InputKind, InputDeviceShape>> = {
  keyboard: { name: "Tapdeck keyboard", product: 1, keys: codesOf(keyboard) },
  gamepad: { name: "Tapdeck gamepad", product: 2, keys: codesOf(gamepad) },
};

export function createVirtualInput({ open, isAllowed, clock, log }: VirtualInputParts) {
  const closing = new AbortController();
  const players = { keyboard: playerOf("keyboard"), gamepad: playerOf("gamepad") };

  function playerOf(kind: InputKind) {
    let device: InputDevice | undefined;
    let waiting = 0;
    const inTurn = createSerialQueue();
    const made = async (signal: AbortSignal) => {
      if (device !== undefined) return device;
      const opened = await open(shapes[kind], signal);
      log.info("input", `a virtual ${kind} was made`);
      device = opened;
      return opened;
    };
    const run = async (steps: readonly InputStep[], signal: AbortSignal, insist: () => void) => {
      signal.throwIfAborted();
      // The permission may have been withdrawn while the macro waited.
      insist();
      try {
        await press(await made(signal), steps, { clock, signal, insist });
      } catch (error) {
        // After a failure the device is made again at its next use.
        const isRefusal = error instanceof ServiceError && error.code === "forbidden";
        if (!signal.aborted && !isRefusal) dispose();
        throw error;
      }
    };
    const dispose = () => {
      device?.close();
      device = undefined;
    };
    return {
      dispose,
      play(steps: readonly InputStep[], signal: AbortSignal, insist: () => void): Promise<void> {
        if (waiting >= macrosWaitingMax)
          throw new ServiceError("busy", `${macrosWaitingMax} macros wait already`, {
            data: { limit: "macrosWaitingMax" },
          });
        waiting += 1;
        return inTurn(() => run(steps, signal, insist)).finally(() => {
          waiting -= 1;
        });
      },
    };
  }

  function insistOnPermission(): void {
    if (isAllowed()) return;
    const sentence = "keys and buttons are pressed only with script.allow_input = true in the config file";
    throw publicError("forbidden", sentence);
  }

  /**
   * Resolves once the macro is played and every key is up again. Rejects with `forbidden` without the owner's permission,
   * `busy` if too many macros wait, `failed` if the device cannot be made, and with the signal's reason. No key stays down.
   */
  const play = async (kind: InputKind, steps: readonly InputStep[], signal: AbortSignal) => {
    insistOnPermission();
    await players[kind].play(steps, AbortSignal.any([signal, closing.signal]), insistOnPermission);
  };
  return {
    play,
    /**
     * Reads a macro and plays it; `invalid-params` if it is invalid. It ends with `forbidden` before the next key if `mayPress`
     * or the owner's permission has become false.
     */
    async playText(kind: InputKind, text: string, mayPress: () => boolean) {
      insistOnPermission();
      const macro = readMacro(text, inputTables[kind]);
      if (macro.kind === "error")
        throw new ServiceError("invalid-params", `${paramNames[kind]}: ${macro.message}`);
      await players[kind].play(macro.steps, closing.signal, () => {
        insistOnPermission();
        if (!mayPress()) throw publicError("forbidden", "its caller may not press keys any more");
      });
    },
    close() {
      closing.abort(failed("the service is stopping"));
      players.keyboard.dispose();
      players.gamepad.dispose();
    },
  };
}

interface Pressing {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Throws if no further key may be pressed. A macro may take minutes, so this is asked again for each key. */
  readonly insist: () => void;
}

async function press(
  device: InputDevice,
  steps: readonly InputStep[],
  { clock, signal, insist }: Pressing,
): Promise<void> {
  let down: readonly number[] = [];
  try {
    for (const step of steps) {
      if (step.kind === "wait") await sleep(clock, step.ms, signal);
      else {
        if (step.kind === "down") insist();
        device.turn(step.codes, step.kind === "down");
        down = down.filter((code) => !step.codes.includes(code));
        if (step.kind === "down") down = [...down, ...step.codes];
      }
    }
  } finally {
    if (down.length > 0) device.turn(down.toReversed(), false);
  }
}
