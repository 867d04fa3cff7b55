/**
 * A player for machines without one. It reads its file, waits for the length of the sound, and ends. A picture stays
 * until it is stopped. `make run` starts it if there is no mpv.
 */
import { readFile } from "node:fs/promises";

const path = process.argv[2];
if (path === undefined) {
  process.stderr.write("demo-player: name a file\n");
  process.exit(64);
}
const bytes = await readFile(path);
process.on("SIGTERM", () => process.exit(0));
// In RIFF WAVE, PCM, the bytes per second are at 28 and the samples' length at 40, little-endian. Files of this project
// have no other chunks.
const isSound = bytes.subarray(0, 4).toString("latin1") === "RIFF";
const seconds = isSound ? bytes.readUInt32LE(40) / bytes.readUInt32LE(28) : 24 * 60 * 60;
setTimeout(() => process.exit(0), seconds * 1000);
