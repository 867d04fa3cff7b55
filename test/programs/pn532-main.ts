/**
 * The emulated PN532 as a program: `bun test/programs/pn532-main.ts --link PATH [--baud-time] [--precise]`. With
 * `--baud-time` (or `--real-time`) the line and the field take their real time.
 *
 * Prints the path of its port. Then it answers each line of its input with `ok` and the monotonic time in nanoseconds, or
 * with `error` and a sentence:
 *
 *   put KIND UID [TEXT]   ultralight, ntag213 and the other Type 2 kinds; classic-mini, classic-1k, classic-4k; desfire;
 *                         felica; or classic, which is known by its UID only; UID in hex
 *   take | kill | revive | plug | unplug | quit
 *   dump                  the last tag's memory in hex, instead of `ok`
 *   trace on              from now on, `answer-end NANOSECONDS` whenever the last byte of an answer has left
 */
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import {
  classicKindOf,
  createClassic,
  createClassicTag,
  createFelicaTag,
  createType2Tag,
  createType4Tag,
  type EmulatedTag,
  type2Kinds,
} from "../emulators/emulated-tags.ts";
import { createPn532Device } from "../emulators/pn532-device.ts";
import { monotonicNs } from "../helpers/monotonic.ts";

const { values } = parseArgs({
  options: {
    link: { type: "string" },
    "baud-time": { type: "boolean" },
    "real-time": { type: "boolean" },
    precise: { type: "boolean" },
  },
});
const device = createPn532Device({
  timing: values["baud-time"] || values["real-time"] ? "real" : "none",
  precise: values.precise ?? false,
  ...(values.link === undefined ? {} : { linkPath: values.link }),
});
let last: EmulatedTag | undefined;
const say = (line: string) => process.stdout.write(`${line}\n`);

say(device.path);
for await (const line of createInterface({ input: process.stdin })) {
  try {
    const told = (await obey(line)) ?? "ok";
    say(`${told} ${monotonicNs()}`);
  } catch (error) {
    say(`error ${error instanceof Error ? error.message : String(error)}`);
  }
  if (line === "quit") break;
}
await device.close();
process.exit(0);

async function obey(line: string): Promise<unknown> {
  const [verb, kind = "", uid = "", ...text] = line.split(" ");
  switch (verb) {
    case "put":
      last = tagOf(kind, Uint8Array.fromHex(uid), text.join(" "));
      return device.put(last);
    case "take":
      return device.take();
    case "kill":
      return device.kill();
    case "revive":
      return device.revive();
    case "plug":
      return device.plug();
    case "unplug":
      return device.unplug();
    case "dump":
      return last?.memory.toHex();
    case "trace":
      return device.onAnswered(() => say(`answer-end ${monotonicNs()}`));
    case "quit":
      return;
    default:
      throw new Error(`no command ${verb}`);
  }
}

function tagOf(kind: string, uid: Uint8Array, text: string): EmulatedTag {
  const options = text === "" ? { uid } : { uid, text };
  const type2 = type2Kinds.find((candidate) => candidate === kind);
  if (type2 !== undefined) return createType2Tag(type2, options);
  const classic = classicKindOf(kind);
  if (classic !== undefined) return createClassic(classic, options);
  switch (kind) {
    case "classic":
      return createClassicTag(uid);
    case "desfire":
      return createType4Tag(options);
    case "felica":
      return createFelicaTag(options);
    default:
      throw new Error(`no tag ${kind}`);
  }
}
