/**
 * A drawing by the compiled program: a separate process that writes a frame buffer, which here is a file of the same
 * size.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setConsole } from "../../drivers/index.ts";
import { systemClock } from "../../src/core/clock.ts";
import { screenDrawMsMax } from "../../src/core/console-limits.ts";
import { canvasOf, type FrameBuffer, writePacked } from "../../src/screen/frame-buffer.ts";
import { createPainter, drawArgument } from "../../src/screen/painter.ts";
import { screenSvg } from "../../src/screen/status-template.ts";
import { english } from "../../src/screen/texts.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { canMakeTerminals, makeTerminal, modeOf } from "../helpers/terminals.ts";

const program = [join(import.meta.dir, "../../dist/tapdeck"), drawArgument];
const place = { base: "http://deck.local:7497" };
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-frame-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** A file as the frame buffer, filled with 0xee. */
async function makeFrame(bitsPerPixel: 16 | 32): Promise<FrameBuffer> {
  const [width, height, padding] = [640, 480, 64];
  const stride = (width * bitsPerPixel) / 8 + padding;
  const device = join(folder, "fb");
  await writeFile(device, new Uint8Array(stride * height).fill(0xee));
  return { device, width, height, stride, bitsPerPixel };
}

function paint(
  frame: FrameBuffer,
  terminal = join(folder, "no-terminal"),
  command: readonly string[] = program,
) {
  const svg = screenSvg({ kind: "ready" }, place, frame, english);
  return createPainter({ clock: systemClock, command }).run({
    kind: "draw",
    svg,
    isKept: true,
    ahead: [svg],
    canvas: canvasOf(frame, { rotation: 0, overscan: 0 }),
    terminal,
  });
}

for (const bits of [32, 16] as const) {
  test(`the program draws on a frame buffer of ${bits} bits a pixel, of which the rows are longer than the picture`, async () => {
    const frame = await makeFrame(bits);
    const painted = await paint(frame);
    const shown = expect.arrayContaining([expect.any(String)]);
    const ahead = [shown];
    expect(painted).toEqual({ kind: "done", isConsoleOff: false, ms: expect.any(Number), shown, ahead });
    const bytes = await readFile(frame.device);
    // The packed picture gives the same bytes: both the one that was drawn, and the one that was packed in advance.
    for (const packed of painted.kind === "done" ? [painted.shown, ...painted.ahead] : []) {
      await writeFile(frame.device, new Uint8Array(bytes.length));
      await writePacked(packed, frame);
      expect(bytes.equals(await readFile(frame.device))).toBe(true);
    }
    expect(bytes.length).toBe(frame.stride * frame.height);
    // The background, #14183a, as B G R X or as 5, 6 and 5 bits: (2 << 11) | (6 << 5) | 7.
    const background = bits === 32 ? [0x3a, 0x18, 0x14, 0] : [0xc7, 0x10];
    const last = (frame.height - 1) * frame.stride;
    for (const at of [0, last]) expect([...bytes.subarray(at, at + bits / 8)]).toEqual(background);
    // The white of the QR code's card, in the middle of the right half.
    const white = Buffer.alloc(
      (bits / 8) * 8,
      bits === 32 ? Buffer.of(255, 255, 255, 0) : Buffer.of(255, 255),
    );
    expect(bytes.includes(white)).toBe(true);
  });
}

test("the program as its sources draws the same", async () => {
  const frame = await makeFrame(32);
  expect((await paint(frame)).kind).toBe("done");
  const compiled = await readFile(frame.device);
  const source = [process.execPath, join(import.meta.dir, "../../src/main.ts"), drawArgument];
  expect((await paint(frame, undefined, source)).kind).toBe("done");
  expect(compiled.equals(await readFile(frame.device))).toBe(true);
});

test("a frame buffer that is gone, and a program that cannot start, are results and no faults", async () => {
  const frame = await makeFrame(32);
  await rm(frame.device);
  expect(await paint(frame)).toEqual({ kind: "failed", why: expect.stringContaining("ENOENT") });
  expect(await Bun.file(frame.device).exists()).toBe(false);
  const ended = await paint(frame, undefined, ["/bin/sh", "-c", "exit 3"]);
  expect(ended).toEqual({ kind: "failed", why: "its process ended with 3" });
  const killed = await paint(frame, undefined, ["/bin/sh", "-c", "kill -9 $$"]);
  expect(killed).toEqual({ kind: "failed", why: "its process ended with SIGKILL" });
});

test("a drawing that takes too long, or is cancelled, is ended, and reported as late", async () => {
  const frame = await makeFrame(32);
  const clock = createManualClock();
  const painter = createPainter({ clock, command: ["/bin/sh", "-c", "exec sleep 600"] });
  const svg = screenSvg({ kind: "ready" }, place, frame, english);
  const canvas = canvasOf(frame, { rotation: 0, overscan: 0 });
  const draw = () =>
    painter.run({ kind: "draw", svg, isKept: false, ahead: [], canvas, terminal: terminal() });
  for (const end of [() => clock.advance(screenDrawMsMax), () => painter.cancel()]) {
    const drawn = draw();
    end();
    expect(await drawn).toEqual({ kind: "late" });
  }
});

const terminal = () => join(folder, "tty");

test.skipIf(!canMakeTerminals)(
  "a process without rights switches the console's text off, which outlives it, and on again",
  async () => {
    makeTerminal(terminal());
    const user = 12_345;
    await chown(terminal(), 0, user);
    await chmod(terminal(), 0o660);
    await chmod(folder, 0o755);
    const frame = await makeFrame(32);
    await chown(frame.device, user, user);
    const asUser = [
      "setpriv",
      `--reuid=${user}`,
      `--regid=${user}`,
      "--clear-groups",
      "--no-new-privs",
      ...program,
    ];
    try {
      expect(await paint(frame, terminal(), asUser)).toMatchObject({ kind: "done", isConsoleOff: true });
      expect(modeOf(terminal())).toBe(1);
      const text = { kind: "text", terminal: terminal() } as const;
      await createPainter({ clock: systemClock, command: asUser }).run(text);
      expect(modeOf(terminal())).toBe(0);
    } finally {
      setConsole(terminal(), "text");
    }
  },
);

test("a file that is no terminal is not switched", async () => {
  await writeFile(terminal(), "");
  expect(setConsole(terminal(), "graphics")).toBe(false);
  expect(setConsole(join(folder, "none"), "graphics")).toBe(false);
});
