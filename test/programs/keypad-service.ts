/**
 * The service with a keypad at each node of an input device. A line of JSON that is written into the pipe `presses` of the
 * data folder is a press of a key. The kernel need not support virtual input devices.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { drivers, localSockets, openCec, openInotify } from "../../drivers/index.ts";
import { startService } from "../../src/compose.ts";
import type { ButtonEvent, OpenButtons } from "../../src/core/operating-system.ts";
import { placesOf } from "../../src/system/folders.ts";

const data = process.argv.at(-1)?.replace("--data=", "") ?? "";
const name = "USB keypad";
const open = new Set<(event: ButtonEvent) => void>();
const openButtons: OpenButtons = (_path, isWanted, { event }) => {
  if (!isWanted({ name, has: () => true })) return undefined;
  open.add(event);
  return { name, close: () => void open.delete(event) };
};
const service = await startService({
  places: placesOf({ data }, process.env),
  drivers,
  openInput: () => {
    throw new Error("no keys are pressed here");
  },
  watchFolders: openInotify,
  localSockets,
  openTelevision: openCec,
  openButtons,
  openMenuKeys: () => undefined,
  releaseCode: async () => 0,
  overrides: {},
  restart() {},
  write: (line) => void process.stderr.write(`${line}\n`),
});
// The pipe is also open for writing, so it has no end.
const presses = createReadStream(`${data}/presses`, { flags: "r+" });
createInterface(presses).on("line", (line) => {
  const event: ButtonEvent = JSON.parse(line);
  for (const hear of [...open]) hear(event);
});
process.on("SIGTERM", () => void service.close().then(() => process.exit(0)));
