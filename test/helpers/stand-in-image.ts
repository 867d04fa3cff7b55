/**
 * The root scripts of the image, as the service sees them: the pipe for its words, the progress of an update, and the
 * note of the last one. To restart the machine, it restarts the service and deletes the progress of the update.
 */
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linesOf } from "./lines.ts";
import { eventually, printed } from "./processes.ts";
import { program } from "./tapdeck.ts";

/**
 * The command that starts a program as the image does, with the pipe `requests` of this folder. The program's arguments
 * come after these words.
 */
export function imageCommand(folder: string, ...words: readonly string[]): readonly string[] {
  return [
    "env",
    `TAPDECK_MACHINE=${folder}`,
    "sh",
    "-c",
    'exec "$@" 0>"$TAPDECK_MACHINE/requests"',
    "sh",
    ...words,
  ];
}

export type StandInImage = Awaited<ReturnType<typeof makeStandInImage>>;

export async function makeStandInImage() {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-image-"));
  const file = (name: string) => join(folder, name);
  await mkdir(folder, { recursive: true });
  await printed(["mkfifo", file("requests")]);
  const reading = Bun.spawn(["sh", "-c", 'echo ready; exec cat <>"$1"', "sh", file("requests")], {
    stdin: "ignore",
    stdout: "pipe",
  });
  const words: string[] = [];
  const read = async () => {
    for await (const word of linesOf(reading.stdout)) words.push(word);
  };
  const done = read();
  await eventually(() => words.length === 1);
  let notes = 0;
  const note = async (text: string) => {
    await writeFile(file("last-update"), text);
    // Notes that are written within one minute must also differ in their time.
    notes += 1;
    await utimes(file("last-update"), 1_700_000_000 + notes, 1_700_000_000 + notes);
  };
  await note("");
  return {
    folder,
    /** Starts the service on this image: the pipe is its standard input. */
    command: imageCommand(folder, program),
    /** The number of requests for an update so far. */
    updates: () => words.filter((word) => word === "update").length,
    /** Writes the output of `tapdeck update`. */
    progress: (text: string) => writeFile(file("update"), text),
    async note(event: "trying" | "kept" | "back", version: string) {
      await note(`event=${event} slot=b version=${version} faults=[]\n`);
    },
    /** Acts as after a restart of the machine. */
    powerCycle: () => rm(file("update"), { force: true }),
    async [Symbol.asyncDispose]() {
      reading.kill();
      await done;
      await rm(folder, { recursive: true });
    },
  };
}
