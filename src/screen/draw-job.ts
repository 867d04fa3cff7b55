/**
 * One drawing, as a separate process, so its 30 MB are free at its end. It reads the job as one line of JSON from
 * its standard input, and writes the result as one line of JSON. The program starts it (`painter.ts`).
 */
import { existsSync, readFileSync } from "node:fs";
import { initWasm, Resvg } from "@resvg/resvg-wasm";
import renderer from "@resvg/resvg-wasm/index_bg.wasm" with { type: "file" };
import font from "dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf" with { type: "file" };
import { messageOf } from "../core/errors.ts";
import type { SetConsole } from "../core/operating-system.ts";
import { lowerPriority } from "../system/own-program.ts";
import { type Box, type Canvas, type PackedFrame, packFrame, wholeOf, writeFrame } from "./frame-buffer.ts";

export type DrawJob =
  | {
      readonly kind: "draw";
      readonly svg: string;
      /** True if the drawing is also packed, to be shown again without a process. */
      readonly isKept: boolean;
      /** Pictures that are packed after the drawing, and not shown. */
      readonly ahead: readonly string[];
      readonly canvas: Canvas;
      readonly terminal: string;
    }
  /** A job that shows the console's text again. */
  | { readonly kind: "text"; readonly terminal: string };

export type DrawResult =
  /**
   * The drawing was shown. `isConsoleOff` is true if the kernel draws no text over the picture. `ms` is the time until
   * the picture was shown.
   */
  | {
      readonly kind: "done";
      readonly isConsoleOff: boolean;
      readonly ms: number;
      /** The packed drawing; empty unless the drawing is to be kept. */
      readonly shown: PackedFrame;
      readonly ahead: readonly PackedFrame[];
    }
  | { readonly kind: "failed"; readonly why: string }
  /** The job was ended early. The next try may have more time. */
  | { readonly kind: "late" };

/** Runs the job of the standard input; returns the exit code. */
export async function runDrawJob(setConsole: SetConsole): Promise<number> {
  const result = await runJob(setConsole).catch(
    (error: unknown): DrawResult => ({ kind: "failed", why: messageOf(error) }),
  );
  await Bun.write(Bun.stdout, `${JSON.stringify(result)}\n`);
  return result.kind === "done" ? 0 : 1;
}

async function runJob(setConsole: SetConsole): Promise<DrawResult> {
  const job: DrawJob = JSON.parse(readFileSync(0, "utf8"));
  if (job.kind === "text")
    return { kind: "done", isConsoleOff: !setConsole(job.terminal, "text"), ms: 0, shown: [], ahead: [] };
  lowerPriority();
  const rgba = await render(job.svg, wholeOf(job.canvas));
  // The console is switched before the pixels are written, because the kernel would draw its text over them.
  const isConsoleOff = setConsole(job.terminal, "graphics");
  await writeFrame(rgba, job.canvas);
  const ms = Math.round(performance.now());
  const shown = job.isKept ? packFrame(rgba, job.canvas) : [];
  const ahead: PackedFrame[] = [];
  for (const svg of job.ahead) ahead.push(packFrame(await render(svg, wholeOf(job.canvas)), job.canvas));
  return { kind: "done", isConsoleOff, ms, shown, ahead };
}

/** The pixels of an SVG, with 4 bytes R G B A each. Rejects a text that is no SVG, or not of this size. */
export async function render(svg: string, size: Pick<Box, "width" | "height">): Promise<Uint8Array> {
  await startRenderer();
  const fonts = { fontBuffers: fontsFor(svg), defaultFontFamily: "DejaVu Sans" };
  const image = new Resvg(svg, { font: fonts }).render();
  if (image.width !== size.width || image.height !== size.height)
    throw new Error(`the picture is ${image.width}x${image.height}, and not ${size.width}x${size.height}`);
  return image.pixels;
}

/** Fonts with Chinese, Japanese and Korean characters: that of the SD image, and those of Debian's packages. */
const eastAsianFonts = [
  "/usr/share/fonts/wqy-zenhei/wqy-zenhei.ttc",
  "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc",
  "/usr/share/fonts/opentype/noto/NotoSansCJK-Bold.ttc",
];

/** Another font is read only for characters that the first one lacks, because it has 16 MB. */
function fontsFor(svg: string): readonly Uint8Array[] {
  const own = readFileSync(font);
  if (!needsEastAsianFont(svg)) return [own];
  const more = eastAsianFonts.find((path) => existsSync(path));
  return more === undefined ? [own] : [own, readFileSync(more)];
}

/** Whether the text has characters of such a font: Chinese, Japanese, Korean, or Latin in their width. */
export function needsEastAsianFont(text: string): boolean {
  return /[\u3001-\u30ff\u3131-\u318e\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6]/.test(
    text,
  );
}

let started: Promise<void> | undefined;

/** Starts the renderer once per process, because a second call of `initWasm` throws. */
function startRenderer(): Promise<void> {
  started ??= initWasm(readFileSync(renderer));
  return started;
}
