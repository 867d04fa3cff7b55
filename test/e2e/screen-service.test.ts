/**
 * The compiled service with a frame buffer and a console of its own: the pictures on the screen while cards come and
 * players end.
 */
import { expect, test } from "bun:test";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { render } from "../../src/screen/draw-job.ts";
import { framePixels } from "../../src/screen/frame-buffer.ts";
import { type Picture, startingOf } from "../../src/screen/picture.ts";
import { screenSvg } from "../../src/screen/status-template.ts";
import { english } from "../../src/screen/texts.ts";
import { eventually } from "../helpers/processes.ts";
import { makePlace, noReaders, program, startTapdeck } from "../helpers/tapdeck.ts";
import { canMakeTerminals, makeTerminal, modeOf } from "../helpers/terminals.ts";

const size = { width: 640, height: 480, stride: 2560, bitsPerPixel: 32, device: "" } as const;

/** Replaces the frame buffer by a file, only for the command after it. */
const stage = `set -eu
mount -t tmpfs none "$1/over"
mkdir "$1/over/upper" "$1/over/work"
mount -t overlay none -o "lowerdir=/dev,upperdir=$1/over/upper,workdir=$1/over/work" /dev
touch /dev/fb0
mount --bind "$1/frame" /dev/fb0
mount -t tmpfs none /sys/class
mkdir -p /sys/class/graphics/fb0 /sys/class/tty
cd /sys/class/graphics/fb0
echo ${size.width},${size.height} >virtual_size
echo ${size.stride} >stride
echo ${size.bitsPerPixel} >bits_per_pixel
cd /
export TAPDECK_SCREEN="$1/tty"
shift
exec "$@"`;

const canStage = canMakeTerminals && Bun.which("unshare") !== null;

test.skipIf(!canStage)(
  "the screen asks for a reader, names what is missing and what starts, is left to the player, and is back after its crash",
  async () => {
    await using place = await makePlace();
    const { folder } = place;
    const waits = `while ! [ -e ${folder}/crash ]; do sleep 0.05; done`;
    await place.config(`${noReaders}
[[launchers]]
id = "crashing"
command = ["/bin/sh", "-c", "${waits}; kill -9 $$", "{path}"]
`);
    await place.file("SNES/Game.sfc");
    await mkdir(join(folder, "over"));
    await writeFile(join(folder, "frame"), new Uint8Array(size.stride * size.height).fill(0xee));
    makeTerminal(join(folder, "tty"));
    const command = ["unshare", "--mount", "/bin/sh", "-c", stage, "stage", folder, program];
    await using service = await startTapdeck(place, command);
    await shows(folder, { kind: "no-reader" });
    expect(modeOf(join(folder, "tty"))).toBe(1);
    await service.client.call("launch", { text: "SNES/None.sfc" });
    await shows(folder, { kind: "not-found", name: "None" });
    await service.client.call("launch", { text: "SNES/Game.sfc" });
    await shows(folder, startingOf("Game"));
    // The last picture of a player.
    await writeFile(join(folder, "frame"), new Uint8Array(size.stride * size.height).fill(0x77));
    await service.client.call("launch", { text: "SNES/None.sfc" });
    await service.heard.next("launch.finished", ({ text, success }) => text === "SNES/None.sfc" && !success);
    await writeFile(join(folder, "crash"), "");
    await service.heard.next("media.stopped");
    await shows(folder, { kind: "no-reader" });
    expect(await service.stop()).toBe(0);
    expect(modeOf(join(folder, "tty"))).toBe(0);
    expect(service.log()).not.toContain("screen:");
  },
);

/** Waits until the frame buffer equals this picture, pixel by pixel. */
async function shows(folder: string, picture: Picture): Promise<void> {
  // The service listens on loopback only, so it has no address to show.
  const pixels = await render(screenSvg(picture, { base: undefined }, size, english), size);
  const wanted = Buffer.from(framePixels(pixels, size, { first: 0, count: size.height }));
  await eventually(async () => wanted.equals(await readFile(join(folder, "frame")))).catch(
    (cause: unknown) => {
      throw new Error(`the screen did not come to show ${picture.kind}`, { cause });
    },
  );
}
