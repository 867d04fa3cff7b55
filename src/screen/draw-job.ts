/**
 * One drawing, as a process of its own: the 30 MB that it needs go back when it ends. It reads one line of JSON, what to do, from
 * its standard input, and writes one line of JSON, how that went. The program starts it (`painter.ts`).
 */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { initWasm, Resvg } from "@resvg/resvg-wasm";
import renderer from "@resvg/resvg-wasm/index_bg.wasm" with { type: "file" };
import font from "dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf" with { type: "file" };
import type { SetConsole } from "../core/console.ts";
import { messageOf } from "../core/errors.ts";
import { type FrameBuffer, framePixels } from "./frame-buffer.ts";

export type DrawJob =
  | { readonly kind: "draw"; readonly svg: string; readonly frame: FrameBuffer; readonly terminal: string }
  /** Shows the console's text again. */
  | { readonly kind: "text"; readonly terminal: string };

export type DrawResult =
  /** `isConsoleOff`: the kernel draws no text over it. */
  | { readonly kind: "done"; readonly isConsoleOff: boolean; readonly ms: number }
  | { readonly kind: "failed"; readonly why: string }
  /** The machine had no time for it: the next try may find some. */
  | { readonly kind: "late" };

/** Runs the job of the standard input; returns the exit code. */
export async function runDrawJob(setConsole: SetConsole): Promise<number> {
  const result = await runJob(setConsole).catch(
    (error: unknown): DrawResult => ({ kind: "failed", why: messageOf(error) }),
  );
  writeSync(1, `${JSON.stringify(result)}\n`);
  return result.kind === "done" ? 0 : 1;
}

async function runJob(setConsole: SetConsole): Promise<DrawResult> {
  const job: DrawJob = JSON.parse(readFileSync(0, "utf8"));
  if (job.kind === "text") return { kind: "done", isConsoleOff: !setConsole(job.terminal, "text"), ms: 0 };
  yieldToOthers();
  const rgba = await render(job.svg, job.frame);
  // Before the pixels: the kernel's text would be drawn over them.
  const isConsoleOff = setConsole(job.terminal, "graphics");
  writeFrame(rgba, job.frame);
  return { kind: "done", isConsoleOff, ms: Math.round(performance.now()) };
}

/** Pixels of 4 bytes, R G B A. Rejects what is no SVG, or not of this size. */
export async function render(svg: string, size: Pick<FrameBuffer, "width" | "height">): Promise<Uint8Array> {
  await startRenderer();
  const fonts = { fontBuffers: [readFileSync(font)], defaultFontFamily: "DejaVu Sans" };
  const image = new Resvg(svg, { font: fonts }).render();
  if (image.width !== size.width || image.height !== size.height)
    throw new Error(`the picture is ${image.width}x${image.height}, and not ${size.width}x${size.height}`);
  return image.pixels;
}

let started: Promise<void> | undefined;

/** Once a process: a second call of `initWasm` throws. */
function startRenderer(): Promise<void> {
  started ??= initWasm(readFileSync(renderer));
  return started;
}

const bandRows = 64; // At a time, rather than the whole picture once more: 0.5 MB on a screen of 1920 columns.

/** Never makes a file where no frame buffer is, and never cuts one. */
function writeFrame(rgba: Uint8Array, frame: FrameBuffer): void {
  const fd = openSync(frame.device, "r+");
  try {
    for (let first = 0; first < frame.height; first += bandRows) {
      const bytes = framePixels(rgba, frame, { first, count: Math.min(bandRows, frame.height - first) });
      const start = first * frame.stride;
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, start + at);
    }
  } finally {
    closeSync(fd);
  }
}

/** Whatever else wants the processor goes first. */
function yieldToOthers(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // Where that is forbidden, it works as fast as the others.
  }
}
