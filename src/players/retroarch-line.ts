/**
 * The line to RetroArch: its commands, one a line, at its standard input, and its answers at its standard output
 * (RetroArch 1.14, `command.c`). It answers a few of them:
 *
 *   GET_STATUS               GET_STATUS PLAYING|PAUSED <system>,<file>,crc32=<hex>   or   GET_STATUS CONTENTLESS
 *   GET_CONFIG_PARAM <name>  GET_CONFIG_PARAM <name> unsupported, where it knows no such setting; no line feed follows
 *
 * All others are done in its next frame, without an answer. It never flushes its output, so that an answer stays in the
 * buffer of its C library until that is full. Each question is therefore followed by as many others as fill it. Answers to
 * those of an earlier question come first: a name that counts up tells where the answer to this one begins. Whatever a core
 * prints may stand in between.
 */
import { statSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import type { Player, Talk } from "../system/process.ts";

export type RetroArchStatus = "playing" | "paused" | "contentless";

export interface RetroArchLine {
  say(command: string): void;
  /** Undefined where nothing answers within `msMax`. */
  status(msMax: number): Promise<RetroArchStatus | undefined>;
}

// glibc takes the block size of the pipe, or BUFSIZ, which is 8192; musl takes less.
const bufferBytesMin = 8192;
const question = "GET_CONFIG_PARAM";
const filler = `${question} -\n`;
const fillerAnswerBytes = `${question} - unsupported`.length;

/** Speaks with a player that was started with `hasTalk`. */
export function openRetroArchLine({ pid, talk }: Pick<Player, "pid" | "talk">, clock: Clock): RetroArchLine {
  if (talk === undefined) throw new Error("must hold: a player that was to talk does");
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
  return {
    say: (command) => talk.say(`${command}\n`),
    status(msMax) {
      // A question that has no answer yet is the one of all who ask meanwhile: nothing is lost on the way.
      if (asked === undefined) {
        asked = Promise.withResolvers();
        filling ??= filler.repeat(Math.ceil(bufferBytes(pid) / fillerAnswerBytes));
        lastQuestion += 1;
        talk.say(`${question} ask${lastQuestion}\nGET_STATUS\n${filling}`);
      }
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
    // However it ended, nothing more comes.
  }
}

/** How much its C library keeps back at the most. */
function bufferBytes(pid: number): number {
  try {
    return Math.max(bufferBytesMin, statSync(`/proc/${pid}/fd/1`).blksize);
  } catch {
    // It has ended.
    return bufferBytesMin;
  }
}

/** What it says behind the answer to the question of this number; undefined where that has not come. */
export function statusIn(text: string, number: number): RetroArchStatus | undefined {
  const start = text.indexOf(mark(number));
  if (start === -1) return undefined;
  const [, status] = /GET_STATUS (PLAYING|PAUSED|CONTENTLESS)/.exec(text.slice(start)) ?? [];
  switch (status) {
    case "PLAYING":
      return "playing";
    case "PAUSED":
      return "paused";
    case "CONTENTLESS":
      return "contentless";
    default:
      return undefined;
  }
}

/** What more may come to: all from the mark on, where that has come, and of that its two ends. */
function tailOf(text: string, number: number): string {
  const start = text.indexOf(mark(number));
  if (start === -1) return text.slice(-tailBytes);
  return mark(number) + text.slice(start + mark(number).length).slice(-tailBytes);
}

const mark = (number: number) => `${question} ask${number} `;
// Longer than any mark and any status.
const tailBytes = 64;
