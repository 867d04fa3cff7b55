/**
 * The control line to RetroArch: commands, one a line, to its standard input, and responses from its standard output
 * (RetroArch 1.14, `command.c`). It responds to two of them:
 *
 *   GET_STATUS               GET_STATUS PLAYING|PAUSED <system>,<file>,crc32=<hex>   or   GET_STATUS CONTENTLESS
 *   GET_CONFIG_PARAM <name>  GET_CONFIG_PARAM <name> unsupported, for an unknown setting; without a line feed
 *
 * RetroArch runs the other commands in its next frame, without a response. RetroArch never flushes its output, so a response
 * stays in the buffer of its C library until that buffer is full. Therefore each question is followed by enough others to
 * fill the buffer. Responses to earlier fillers come first, and output of the core may be mixed in. A numbered name
 * marks the start of the response to the last question.
 */
import { statSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import { assert } from "../core/errors.ts";
import type { Player, Talk } from "../system/process.ts";

const statuses = ["playing", "paused", "contentless"] as const;
export type RetroArchStatus = (typeof statuses)[number];

export type RetroArchLine = ReturnType<typeof openRetroArchLine>;

// glibc's buffer has the block size of the pipe, or BUFSIZ, which is 8192; musl's is smaller.
const bufferBytesMin = 8192;
const question = "GET_CONFIG_PARAM";
const filler = `${question} -\n`;
const fillerAnswerBytes = `${question} - unsupported`.length;

/** Opens the line to a player that was started with `hasTalk`. */
export function openRetroArchLine({ pid, talk }: Pick<Player, "pid" | "talk">, clock: Clock) {
  assert(talk !== undefined, "a player that is started with hasTalk has a talk");
  let lastQuestion = 0;
  let filling: string | undefined;
  let asked: PromiseWithResolvers<RetroArchStatus> | undefined;
  let heard = "";
  void listen(talk, (text) => {
    if (asked === undefined) return;
    heard += text;
    const status = statusIn(heard, lastQuestion);
    heard = status === undefined ? tailOf(heard, lastQuestion) : "";
    if (status === undefined) return;
    asked.resolve(status);
    asked = undefined;
  });
  const ask = () => {
    filling ??= filler.repeat(Math.ceil(bufferBytes(pid) / fillerAnswerBytes));
    lastQuestion += 1;
    talk.say(`${question} ask${lastQuestion}\nGET_STATUS\n${filling}`);
  };
  return {
    say: (command: string): void => talk.say(`${command}\n`),
    /** Asks for the status; undefined without a response within `msMax`. */
    status(msMax: number): Promise<RetroArchStatus | undefined> {
      // Callers share a question that still waits, because no response is lost.
      if (asked === undefined) {
        asked = Promise.withResolvers();
        ask();
      }
      return within(asked.promise, msMax, clock);
    },
    /** The same, with a question behind all commands that were said. Its response is also the response to one that waits. */
    freshStatus(msMax: number): Promise<RetroArchStatus | undefined> {
      asked ??= Promise.withResolvers();
      ask();
      return within(asked.promise, msMax, clock);
    },
  };
}

async function within<T>(promise: Promise<T>, msMax: number, clock: Clock): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  using _timer = clock.after(msMax, () => late.resolve(undefined));
  return await Promise.race([promise, late.promise]);
}

async function listen({ output }: Talk, take: (text: string) => void): Promise<void> {
  try {
    for await (const chunk of output) take(Buffer.from(chunk).toString("latin1"));
  } catch {
    // After the end of the player, for whatever reason, no further output comes.
  }
}

/** The most bytes that the player's C library buffers. */
function bufferBytes(pid: number): number {
  try {
    return Math.max(bufferBytesMin, statSync(`/proc/${pid}/fd/1`).blksize);
  } catch {
    // The player has ended.
    return bufferBytesMin;
  }
}

/** The status after the mark of this question; undefined if it has not arrived. */
export function statusIn(text: string, number: number): RetroArchStatus | undefined {
  const start = text.indexOf(mark(number));
  if (start === -1) return undefined;
  const [, status] = /GET_STATUS (PLAYING|PAUSED|CONTENTLESS)/.exec(text.slice(start)) ?? [];
  return statuses.find((one) => one.toUpperCase() === status);
}

/** The part of the output that a later chunk may complete: the mark, if it has arrived, and the last bytes. */
function tailOf(text: string, number: number): string {
  const start = text.indexOf(mark(number));
  if (start === -1) return text.slice(-tailBytes);
  return mark(number) + text.slice(start + mark(number).length).slice(-tailBytes);
}

const mark = (number: number) => `${question} ask${number} `;
// The length of the tail, which is longer than any mark and any status.
const tailBytes = 64;
