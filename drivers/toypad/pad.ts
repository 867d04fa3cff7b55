/** The Toy Pad as something that can be asked: one command at a time, each with its answer or none. */
import { afterSilence, type Clock } from "../../src/core/clock.ts";
import { ServiceError } from "../../src/core/errors.ts";
import type { Log } from "../../src/core/log.ts";
import type { HidLink } from "../io/hid-link.ts";
import { toldPad } from "../protocol/log-redaction.ts";
import { encodeCommand, type PadReport, parsePadReport } from "../protocol/toypad-report.ts";

// The pad asks the tag itself and answers over interrupts of a millisecond; nobody has written its time-outs down. Two of
// these and the pause between looks stay within the two seconds in which a dead pad must be found.
const answerMs = 300;

export type TagEvent = Extract<PadReport, { kind: "tag" }>;

export interface Pad {
  readonly link: HidLink;
  /** The data of the answer; undefined where none came. Rejects with `reader-gone`, or the signal's reason. */
  ask(command: number, parameters: Uint8Array, signal?: AbortSignal): Promise<Uint8Array | undefined>;
  /** One listener: a later one takes the place of an earlier. */
  onTag(listener: (event: TagEvent) => void): void;
}

export function createPad(link: HidLink, clock: Clock, log: Log): Pad {
  let onTag: (event: TagEvent) => void = () => {};
  let waiting: { readonly number: number; readonly end: (data: Uint8Array | undefined) => void } | undefined;
  let fail: (reason: Error) => void = () => {};
  let gone: Error | undefined;
  let number = 0;
  let turn: Promise<unknown> = Promise.resolve();

  link.onReport((bytes) => {
    if (log.debugging) log.debug("toypad", "received", { path: link.path, bytes: toldPad(bytes) });
    const report = parsePadReport(bytes);
    if (report.kind === "tag") onTag(report);
    // An answer that came too late has another number, and is nobody's.
    else if (report.kind === "answer" && report.number === waiting?.number) waiting.end(report.data);
  });
  link.onGone((reason) => {
    gone = reason;
    fail(reason);
  });

  const askNow = (command: number, parameters: Uint8Array, signal: AbortSignal | undefined) =>
    new Promise<Uint8Array | undefined>((resolve, reject) => {
      if (gone !== undefined) return reject(gone);
      if (signal?.aborted) return reject(signal.reason);
      number = (number % 255) + 1;
      const done = () => {
        timer[Symbol.dispose]();
        signal?.removeEventListener("abort", onAbort);
        [waiting, fail] = [undefined, () => {}];
      };
      const refuse = (reason: unknown) => {
        done();
        reject(reason);
      };
      const end = (data: Uint8Array | undefined) => {
        done();
        resolve(data);
      };
      const onAbort = () => refuse(signal?.reason);
      const timer = afterSilence(clock, answerMs, () => end(undefined));
      [waiting, fail] = [{ number, end }, refuse];
      signal?.addEventListener("abort", onAbort, { once: true });
      link.write(encodeCommand(command, number, parameters)).catch(refuse);
    });

  return {
    link,
    ask(command, parameters, signal) {
      const asked = turn.then(() => askNow(command, parameters, signal));
      // The next one waits for its end only.
      turn = asked.catch(() => {});
      return asked;
    },
    onTag: (listener) => {
      onTag = listener;
    },
  };
}

export function padGone({ link }: Pick<Pad, "link">, why: string): ServiceError {
  return new ServiceError("reader-gone", `${link.path}: ${why}`);
}
