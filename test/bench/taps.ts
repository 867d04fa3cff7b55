/**
 * The time of a tap, measured from outside. An emulated PN532 in a process of its own keeps the time of line and field
 * (115200 baud). The player is a shell that writes a line into a pipe. The time ends when that line is here, so it includes
 * the start of the shell. The same shell started by hand is the lower bound of any software.
 *
 * The competitor is libnfc's nfc-poll on the same chip: it prints a tag's UID, and neither reads nor starts anything.
 */
import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeTextMessage } from "../../drivers/protocol/ndef.ts";
import { monotonicNs } from "../helpers/monotonic.ts";
import { firstReader, makePlace, program, startTapdeck } from "../helpers/tapdeck.ts";
import { type EmulatorProcess, startEmulator } from "./emulator.ts";
import { line, milliseconds, quantile, spread, title } from "./figures.ts";
import { lineReader } from "./lines.ts";

const taps = 200;
const polls = 10;
const messageBytes = 48;
const uid = "04112233445566";
/** A card whose NDEF message has 48 bytes. */
const text = `SNES/${"Game".padEnd(messageBytes - encodeTextMessage("SNES/.sfc").length, "x")}.sfc`;

export async function measureTaps(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-bench-"));
  const emulator = await startEmulator(join(folder, "ttyEMU0"));
  try {
    title(`A tap's way (115200 baud, an NDEF message of ${encodeTextMessage(text).length} bytes, NTAG213)`);
    await tapdeckTaps(folder, emulator);
    await libnfcPolls(folder, emulator);
  } finally {
    await emulator.stop();
    await rm(folder, { recursive: true });
  }
}

async function tapdeckTaps(folder: string, emulator: EmulatorProcess): Promise<void> {
  const link = join(folder, "ttyEMU0");
  const { fromAnswer, fromField, byHand } = await timeTaps({ folder, link, count: taps }, emulator, [
    program,
  ]);
  const own = quantile(fromAnswer, 0.5) - quantile(byHand, 0.5);
  line(
    "last byte of the tag to the player's first word",
    spread(fromAnswer, "ms"),
    "2 ms, p99 5 ms, to the process",
  );
  line("the same player, started by hand", spread(byHand, "ms"));
  line("  what the service adds (difference of the medians)", `${own.toFixed(2)} ms`);
  line("tag enters the field to the player's first word", spread(fromField, "ms"), "50 ms, p99 80 ms");
}

export interface TapTimes {
  /** In milliseconds, from the last byte of the tag to the player's first word. */
  readonly fromAnswer: readonly number[];
  /** From the moment at which the tag enters the field. */
  readonly fromField: readonly number[];
  /** The same player, started by hand. */
  readonly byHand: readonly number[];
}

/** Taps of the program `command` at the emulated reader `link`, each beside a start by hand. */
export async function timeTaps(
  { folder, link, count }: { readonly folder: string; readonly link: string; readonly count: number },
  emulator: EmulatorProcess,
  command: readonly string[],
): Promise<TapTimes> {
  const pipe = await mkdtemp(join(folder, "taps-")).then((made) => join(made, "pipe"));
  Bun.spawnSync(["mkfifo", pipe]);
  const player = ["/bin/sh", "-c", `echo started > ${pipe}`];
  await using place = await makePlace(`
[log]
console = false
[readers]
connect = ["pn532-uart:${link}?baud=115200"]
detect = false
[[launchers]]
id = "stamp"
command = ${JSON.stringify([...player, "{path}"])}
`);
  await place.file(text);
  await using service = await startTapdeck(place, command);
  await firstReader(service);
  // The pipe is also opened for writing, so it never reaches its end.
  const stream = createReadStream(pipe, { flags: "r+" });
  let arrived = (_: bigint) => {};
  stream.on("data", () => arrived(monotonicNs()));
  const arrival = () => new Promise<bigint>((resolve) => (arrived = resolve));

  const fromAnswer: number[] = [];
  const fromField: number[] = [];
  const byHand: number[] = [];
  for (let tap = 0; tap < count; tap++) {
    const here = arrival();
    const putNs = await emulator.say(`put ntag213 ${uid} ${text}`);
    const hereNs = await here;
    fromField.push(milliseconds(putNs, hereNs));
    await emulator.say("take");
    // Its answer follows all earlier lines of the trace.
    fromAnswer.push(milliseconds(emulator.answerEndBefore(hereNs), hereNs));
    await service.heard.next("tokens.removed");
    const again = arrival();
    const spawnNs = monotonicNs();
    Bun.spawn([...player], { stdio: ["ignore", "ignore", "ignore"] });
    byHand.push(milliseconds(spawnNs, await again));
  }
  stream.destroy();
  // A pending read in the runtime's thread keeps this process from ending.
  Bun.spawnSync(player, { stdio: ["ignore", "ignore", "ignore"] });
  return { fromAnswer, fromField, byHand };
}

async function libnfcPolls(folder: string, emulator: EmulatorProcess): Promise<void> {
  if (Bun.which("nfc-poll") === null) return line("libnfc's nfc-poll", "is not installed (libnfc-examples)");
  const samples: number[] = [];
  const environment = {
    LIBNFC_AUTO_SCAN: "false",
    LIBNFC_DEFAULT_DEVICE: `pn532_uart:${join(folder, "ttyEMU0")}`,
  };
  await emulator.say("take");
  for (let poll = 0; poll < polls; poll++) {
    const child = Bun.spawn(["stdbuf", "-oL", "nfc-poll"], {
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const polling = Promise.withResolvers<void>();
    const found = Promise.withResolvers<bigint>();
    void lineReader(child.stdout, (said) => {
      if (said.startsWith("NFC device will poll")) polling.resolve();
      if (said.includes("UID (NFCID1)")) found.resolve(monotonicNs());
    });
    await polling.promise;
    await Bun.sleep(300 + Math.random() * 300);
    const putNs = await emulator.say(`put ntag213 ${uid} ${text}`);
    samples.push(milliseconds(putNs, await found.promise));
    await emulator.say("take");
    await child.exited;
  }
  line("libnfc's nfc-poll: tag enters to its UID on the screen", spread(samples, "ms"));
}
