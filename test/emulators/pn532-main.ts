/**
 * The emulated PN532 as a program: `bun test/emulators/pn532-main.ts --link PATH [--real-time] [--precise]`.
 *
 * Prints the path of its port, then answers each line of its input with `ok` and the monotonic time in nanoseconds, or
 * with `error` and a sentence:
 *
 *   put KIND UID [TEXT]   ntag213, ntag215, ntag216, ultralight, ultralight-ev1 or classic; UID in hex
 *   take | kill | revive | plug | unplug | quit
 *   dump                  the last tag's memory in hex, before the time
 *   trace on              from now on, `answer-end NS` whenever the last byte of an answer has left
 */
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { createPn532Device } from "../../drivers/emulator/pn532-device.ts";
import {
  createPlainTag,
  createType2Tag,
  type EmulatedTag,
  type Type2Kind,
} from "../../drivers/emulator/tags.ts";

const { values } = parseArgs({
  options: { link: { type: "string" }, "real-time": { type: "boolean" }, precise: { type: "boolean" } },
});
const device = createPn532Device({
  timing: values["real-time"] ? "real" : "none",
  precise: values.precise ?? false,
  ...(values.link === undefined ? {} : { linkPath: values.link }),
});
let last: EmulatedTag | undefined;
const say = (line: string) => process.stdout.write(`${line}\n`);

say(device.path);
for await (const line of createInterface({ input: process.stdin })) {
  try {
    const told = (await obey(line)) ?? "ok";
    say(`${told} ${process.hrtime.bigint()}`);
  } catch (error) {
    say(`error ${error instanceof Error ? error.message : String(error)}`);
  }
  if (line === "quit") break;
}
await device.close();
process.exit(0);

async function obey(line: string): Promise<string | undefined> {
  const [verb, kind = "", uid = "", ...text] = line.split(" ");
  switch (verb) {
    case "put":
      last = tagOf(kind, Uint8Array.fromHex(uid), text.join(" "));
      device.put(last);
      return undefined;
    case "take":
      device.take();
      return undefined;
    case "kill":
      device.kill();
      return undefined;
    case "revive":
      device.revive();
      return undefined;
    case "plug":
      device.plug();
      return undefined;
    case "unplug":
      await device.unplug();
      return undefined;
    case "dump":
      return last?.memory.toHex();
    case "trace":
      device.onAnswered((atNs) => say(`answer-end ${atNs}`));
      return undefined;
    case "quit":
      return undefined;
    default:
      throw new Error(`no command ${verb}`);
  }
}

function tagOf(kind: string, uid: Uint8Array, text: string): EmulatedTag {
  if (kind === "classic") return createPlainTag({ uid, atqa: 0x0004, sak: 0x08 });
  const known: readonly Type2Kind[] = ["ntag213", "ntag215", "ntag216", "ultralight", "ultralight-ev1"];
  const type2 = known.find((candidate) => candidate === kind);
  if (type2 === undefined) throw new Error(`no tag ${kind}`);
  return createType2Tag(type2, text === "" ? { uid } : { uid, text });
}
