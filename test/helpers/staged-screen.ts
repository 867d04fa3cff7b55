/** The compiled service with a frame buffer and a console of its own. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Place, program, type Running, startTapdeck } from "./tapdeck.ts";
import { canMakeTerminals, makeTerminal } from "./terminals.ts";

export const screenSize = { width: 640, height: 480, stride: 2560, bitsPerPixel: 32, device: "" } as const;

/** A script that replaces the frame buffer by a file, only for the command after it. */
const stage = `set -eu
mount -t tmpfs none "$1/over"
mkdir "$1/over/upper" "$1/over/work"
mount -t overlay none -o "lowerdir=/dev,upperdir=$1/over/upper,workdir=$1/over/work" /dev
touch /dev/fb0
mount --bind "$1/frame" /dev/fb0
mount -t tmpfs none /sys/class
mkdir -p /sys/class/graphics/fb0 /sys/class/tty
cd /sys/class/graphics/fb0
echo ${screenSize.width},${screenSize.height} >virtual_size
echo ${screenSize.stride} >stride
echo ${screenSize.bitsPerPixel} >bits_per_pixel
cd /
export TAPDECK_SCREEN="$1/tty"
shift
exec "$@"`;

export const canStage = canMakeTerminals && Bun.which("unshare") !== null;

/** Starts the service. Its screen does not show anything yet. */
export async function startOnStage(place: Place): Promise<Running> {
  const { folder } = place;
  await mkdir(join(folder, "over"));
  await writeFile(join(folder, "frame"), new Uint8Array(screenSize.stride * screenSize.height).fill(0xee));
  makeTerminal(join(folder, "tty"));
  const command = ["unshare", "--mount", "/bin/sh", "-c", stage, "stage", folder, program];
  return startTapdeck(place, command);
}
