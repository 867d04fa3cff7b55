/**
 * One PN532 behind a byte link: sends a command, waits for its ACK and its answer, and repairs errors of the line
 * (UM0701-02, section 6.2.1). Commands run strictly one after another; every wait has a time-out.
 */
import { afterSilence, type Clock, sleep } from "../../src/core/clock.ts";
import { assert } from "../../src/core/errors.ts";
import { spacedHex } from "../../src/core/hex.ts";
import type { Log } from "../../src/core/log.ts";
import { readerFaults } from "../../src/core/reader-faults.ts";
import { type ByteLink, readerGone } from "../io/links.ts";
import { chipLogText } from "../protocol/log-redaction.ts";
import { chipToHost } from "../protocol/pn532-commands.ts";
import { ackFrame, type Cut, createFrameCutter, encodeFrame, nackFrame } from "../protocol/pn532-frame.ts";

const ackTimeoutMs = 30; // The chip acknowledges within 15 ms (UM0701-02, 6.2.2.1.b). The time is doubled for USB converters.
const probeAckTimeoutMs = 120; // A probe has one try, and must not miss a chip because the machine was busy for a moment.
const answerTimeoutMs = 250; // The slowest exchange has two RF time-outs of 51 ms (7.3.1), and 264 bytes, which take 138 ms at 19200 baud.
// A command that was sent or requested twice may be answered twice, and the second answer must not pass for that of
// the next command. The host's ACK stops the chip; within this time its last bytes leave the line and the converter.
const doubledMs = 30;
const sendsMax = 3;
const nacksMax = 2;

/** The functions of a chip that reading tags needs. The chip is on a line, or inside another reader. */
export type ChipCaller = Pick<Chip, "call" | "callFor" | "abort">;

export type Chip = ReturnType<typeof createChip>;

interface Waiting {
  readonly code: number;
  readonly take: (answer: Uint8Array | undefined) => void;
  readonly fail: (why: string) => void;
  readonly frame: Uint8Array;
  readonly payload: Uint8Array;
  readonly sendsMax: number;
  /** The time-out from the ACK to the answer, in milliseconds, and whether a missing answer is a fault. */
  readonly answerMs: number;
  readonly mayBeSilent: boolean;
  acknowledged: boolean;
  sends: number;
  nacks: number;
  timer: Disposable | undefined;
}

export function createChip(link: ByteLink, clock: Clock, log: Log) {
  let cutter = createFrameCutter();
  let waiting: Waiting | undefined;
  let stray: Uint8Array | undefined;
  let gone: string | undefined;

  const send = (bytes: Uint8Array, payload?: Uint8Array) => {
    if (log.debugging)
      log.debug("pn532", `> ${payload === undefined ? spacedHex(bytes) : chipLogText(payload)}`);
    // A line that takes no bytes is reported by `onGone`, or shows as a missing ACK.
    return link.write(bytes).catch(() => {});
  };
  const arm = (wait: Waiting, ms: number) => {
    wait.timer?.[Symbol.dispose]();
    wait.timer = afterSilence(clock, ms, () => expire(wait));
  };
  const transmit = (wait: Waiting) => {
    wait.sends += 1;
    wait.acknowledged = false;
    // The wait doubles each time, because a machine that is busy with a game also delays the bytes.
    arm(wait, wait.sendsMax === 1 ? probeAckTimeoutMs : ackTimeoutMs * 2 ** (wait.sends - 1));
    void send(wait.frame, wait.payload);
  };
  const askAgain = (wait: Waiting) => {
    wait.nacks += 1;
    arm(wait, wait.answerMs);
    void send(nackFrame);
  };
  const expire = (wait: Waiting) => {
    // Half a frame that never ends must not use up bytes of the next frame.
    cutter = createFrameCutter();
    if (!wait.acknowledged) {
      if (wait.sends < wait.sendsMax) transmit(wait);
      else if (wait.sendsMax === 1) wait.take(undefined);
      else wait.fail("the chip does not answer");
    } else if (wait.mayBeSilent) wait.take(undefined);
    else if (wait.nacks < nacksMax) askAgain(wait);
    else wait.fail("the chip took a command and then sent no answer");
  };
  const takeFrame = (payload: Uint8Array) => {
    if (payload[0] !== chipToHost) return;
    // The ACK of the command may have been lost on the line. An answer is proof enough.
    if (waiting !== undefined && payload[1] === waiting.code + 1) waiting.take(payload);
    else stray = payload;
  };
  const takeCut = (cut: Cut) => {
    switch (cut.kind) {
      case "ack":
        if (waiting === undefined || waiting.acknowledged) return;
        waiting.acknowledged = true;
        return arm(waiting, waiting.answerMs);
      case "frame":
        return takeFrame(cut.payload);
      case "error":
        return waiting?.fail("the chip refused a command as malformed");
      case "nack":
        return;
      case "noise":
        readerFaults.badFrames += 1;
        if (cut.why === "data-sum" && waiting?.acknowledged && waiting.nacks < nacksMax) askAgain(waiting);
    }
  };
  link.onBytes((bytes) => {
    for (const cut of cutter.push(bytes)) {
      if (log.debugging) tell(cut, log);
      takeCut(cut);
    }
  });
  link.onGone((reason) => {
    gone = reason.message;
    waiting?.fail(reason.message);
  });

  const afterDoubled = async (signal?: AbortSignal) => {
    await send(ackFrame);
    await sleep(clock, doubledMs, signal);
    stray = undefined;
  };
  const start = (
    command: Uint8Array,
    how: Pick<Waiting, "answerMs" | "mayBeSilent" | "sendsMax">,
    signal?: AbortSignal,
  ) =>
    new Promise<Uint8Array | undefined>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (gone !== undefined) return reject(readerGone(link.path, gone));
      assert(waiting === undefined, "commands come one after another");
      const settle = () => {
        waiting = undefined;
        wait.timer?.[Symbol.dispose]();
        signal?.removeEventListener("abort", onAbort);
      };
      const onAbort = () => {
        settle();
        reject(signal?.reason);
      };
      const wait: Waiting = {
        ...how,
        code: command[1] ?? 0,
        frame: encodeFrame(command),
        payload: command,
        take: (answer) => {
          settle();
          const once = answer === undefined || wait.sends + wait.nacks === 1;
          resolve(once ? answer : afterDoubled(signal).then(() => answer));
        },
        fail: (why) => {
          settle();
          reject(readerGone(link.path, why));
        },
        acknowledged: false,
        sends: 0,
        nacks: 0,
        timer: undefined,
      };
      waiting = wait;
      signal?.addEventListener("abort", onAbort, { once: true });
      transmit(wait);
    });

  return {
    link,
    /** The answer's payload (TFI, code, data). Rejects with `reader-gone` if none comes, and when `signal` aborts. */
    async call(command: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
      const answer = await start(
        command,
        { answerMs: answerTimeoutMs, mayBeSilent: false, sendsMax },
        signal,
      );
      if (answer === undefined) throw readerGone(link.path, "the chip does not answer");
      return answer;
    },
    /** Like `call`, for a command without a time limit of its own: undefined if nothing was answered within `waitMs`. */
    callFor: (command: Uint8Array, waitMs: number, signal?: AbortSignal) =>
      start(command, { answerMs: waitMs, mayBeSilent: true, sendsMax }, signal),
    /**
     * Like `call`, but the command is sent only once; undefined if nothing answers. This shows whether a chip is present.
     */
    probe: (command: Uint8Array, signal?: AbortSignal) =>
      start(command, { answerMs: answerTimeoutMs, mayBeSilent: true, sendsMax: 1 }, signal),
    /** Aborts the running command: an ACK from the host aborts it (6.2.1.3). */
    abort() {
      stray = undefined;
      return send(ackFrame);
    },
    /** Takes the late answer to an aborted command, which comes at most once. */
    takeStray(code: number) {
      const answer = stray?.[1] === code + 1 ? stray : undefined;
      stray = undefined;
      return answer;
    },
  };
}

function tell(cut: Cut, log: Log): void {
  if (cut.kind === "noise") log.debug("pn532", "noise", { bytes: cut.bytes, why: cut.why });
  else log.debug("pn532", `< ${cut.kind === "frame" ? chipLogText(cut.payload) : cut.kind}`);
}
