/**
 * Card and barcode readers that type their codes, as if they were a keyboard.
 *
 *   link     the input node of the kernel, taken exclusively: EVIOCGRAB on /dev/input/event*
 *   codes    one at a time, each a tap: the reader does not report removal
 *
 *   a code ends      with Enter or Tab, or after a quarter of a second without a key
 *   card readers     the number that they type is the UID, as it is printed on most cards: 0002008108
 *   barcode readers  the code is the text, of the type Barcode
 *   by the config    a number of 8 to 10 digits, or of 8, 10 or 14 hex digits, is a UID, anything else a text;
 *                    `codes=uid` or `codes=text` overrides this, because an EAN-8 has eight digits, too
 *   layouts          us, de, fr: the layout that the reader is configured for; `?layout=de`
 *
 * Never a person's keyboard: only devices by the USB ids of the table below, or by an id that the config names,
 * `hid-keyboard:1234:5678`. The driver checks the id of the node itself before it takes it, because node numbers change.
 *
 * Why not `node-hid`: a raw HID node delivers the keys, but the kernel's keyboard driver still types them into the
 * console. Only the grab of the input node prevents that, and the input node delivers decoded keys for every report
 * descriptor. Unbinding the kernel's driver needs root, and would leave the reader dead after a crash; the grab ends
 * with the process.
 *
 * Quirks:
 * - A code without an end key ends after a pause. A pause within a code would split the code, so this pause is long, and
 * all keys that wait are read before the code ends.
 */
import { readerFaults } from "../src/core/reader-faults.ts";
import type { Sighting } from "../src/core/token.ts";
import type { Candidate, Driver, DriverContext, ReaderSession } from "../src/readers/driver.ts";
import { type KeyLink, type OpenKeys, openKeys } from "./io/evdev.ts";
import { type HidInfo, listKeyboards } from "./io/hid-list.ts";
import { readerGone } from "./io/links.ts";
import { createOneCardSession, type OneCard, tapMs } from "./one-card-presence.ts";
import {
  createEventCutter,
  createTyping,
  type LayoutName,
  layoutNames,
  type Typed,
} from "./protocol/typed-code.ts";

// Readers type a key every 1 to 20 ms; this driver is not meant for a person at a keypad.
const idleMs = 250;
// A delayed process runs its timers before it reads the keys, so keys that wait to be read get this much time.
const lateMs = 10;

/** USB ids, with the kind of codes and an example. */
const usb: readonly { readonly id: string; readonly codes: Codes; readonly example: string }[] = [
  { id: "08ff:0009", codes: "uid", example: "Sycreader SYC ID&IC USB Reader, 125 kHz and 13.56 MHz" },
  {
    id: "ffff:0035",
    codes: "uid",
    example: "Sycreader USB Reader, and many of the same make without a name",
  },
  { id: "0c27:3bfa", codes: "uid", example: "RFIDeas pcProx Card Reader" },
  { id: "05e0:1200", codes: "text", example: "Symbol and Zebra barcode scanners in HID keyboard emulation" },
  { id: "0c2e:0204", codes: "text", example: "Metrologic MS7120 Barcode Scanner, keyboard mode" },
];
const tableIds = usb.map(({ id }) => id);

export const hidKeyboard = createHidKeyboard({ open: openKeys, list: listKeyboards });

interface Keyboards {
  readonly open: OpenKeys;
  readonly list: (ids: readonly string[]) => Promise<readonly HidInfo[]>;
}

/** The driver, with a way to find and open keyboards; tests have their own. */
export function createHidKeyboard(keyboards: Keyboards) {
  return {
    id: "hid-keyboard",
    capabilities: ["read"],
    async detect() {
      return candidatesOf(await keyboards.list(tableIds));
    },
    async open(path, context, signal) {
      const parsed = parseKeyboardName(path);
      if (parsed.kind === "error") throw readerGone(path, parsed.why);
      const { name } = parsed;
      const found = name.node === undefined ? await keyboards.list([name.id ?? ""]) : [{ path: name.node }];
      signal.throwIfAborted();
      return createSession(await openOne(path, name, found, keyboards.open), name, context);
    },
  } as const satisfies Driver;
}

/** The first device of each id is named by that id, as in the config. Further devices are named by their nodes. */
function candidatesOf(found: readonly HidInfo[]): readonly Candidate[] {
  return found.map(({ id, path, stamp, port }) => {
    const isFirst = found.find((other) => other.id === id)?.path === path;
    return { path: isFirst ? id : path, stamp, stablePath: port, isCertain: true };
  });
}

async function openOne(
  text: string,
  { id }: KeyboardName,
  found: readonly Pick<HidInfo, "path">[],
  open: OpenKeys,
): Promise<KeyLink> {
  let refusal: unknown = readerGone(
    text,
    "no reader with this USB id types here: is it plugged in? `lsusb` lists the ids",
  );
  for (const { path } of found) {
    try {
      return await open(path, id === undefined ? tableIds : [id]);
    } catch (error) {
      // Another device with this id may be free.
      refusal = error;
    }
  }
  throw refusal;
}

function createSession(link: KeyLink, name: KeyboardName, context: DriverContext): ReaderSession {
  const known = usb.find(({ id }) => id === link.id);
  const info = known?.example ?? `reader that types, ${link.id}`;
  return createOneCardSession({ info, link, clock: context.clock }, (present, over) => {
    const codes = name.codes ?? known?.codes;
    listen(link, name, {
      context,
      over,
      heard: (text) => lay(present, sightingOf(text, codes), context),
    });
  });
}

interface Listening {
  readonly context: DriverContext;
  readonly over: AbortSignal;
  readonly heard: (text: string) => void;
}

function listen(link: KeyLink, { layout }: KeyboardName, { context, over, heard }: Listening): void {
  const { clock, log } = context;
  const cut = createEventCutter();
  const typing = createTyping(layout);
  let idle: Disposable | undefined;
  const take = (typed: Typed | undefined) => {
    if (typed?.kind === "code") heard(typed.text);
    else if (typed !== undefined) {
      readerFaults.badFrames += 1;
      log.warn("readers", `a code was passed over: ${typed.why}`, { path: link.path });
    }
  };
  const stopWaiting = () => {
    idle?.[Symbol.dispose]();
    idle = undefined;
  };
  over.addEventListener("abort", stopWaiting, { once: true });
  link.onBytes((bytes) => {
    if (over.aborted) return;
    stopWaiting();
    for (const event of cut(bytes)) take(typing.take(event));
    if (!typing.isTyping()) return;
    idle = clock.after(idleMs, () => {
      idle = clock.after(lateMs, () => take(typing.end()));
    });
  });
}

function lay(present: OneCard, sighting: Sighting, { log }: DriverContext): void {
  if (!present.lay(sighting, tapMs)) log.debug("hid-keyboard", "codes come too fast: one is passed over");
}

const hex = /^[0-9a-f]{4,20}$/i;
const likelyUid = /^(\d{8,10}|[0-9a-f]{8}|[0-9a-f]{10}|[0-9a-f]{14})$/i;

/** The sighting of a typed code. `codes` is undefined if neither the config nor the table names the kind of code. */
export function sightingOf(typed: string, codes: Codes | undefined): Sighting {
  const text = typed.trim();
  const isUid = codes === "uid" ? hex.test(text) : codes === undefined && likelyUid.test(text);
  return isUid
    ? { type: "Unknown", uid: text.toLowerCase(), text: "", data: "", removable: false }
    : { type: "Barcode", uid: "", text, data: "", removable: false };
}

interface KeyboardName {
  /** The node to open; undefined if any device with the id may be opened. */
  readonly node: string | undefined;
  /** The id that the device must have; undefined if any id of the table fits. */
  readonly id: string | undefined;
  readonly layout: LayoutName;
  readonly codes: Codes | undefined;
}

/** The kind of a reader's codes: the number of a card, or the text of a barcode. */
export type Codes = "uid" | "text";

type ParsedName =
  | { readonly kind: "name"; readonly name: KeyboardName }
  | { readonly kind: "error"; readonly why: string };

const idForm = /^[0-9a-f]{4}:[0-9a-f]{4}$/;

/** Parses `08ff:0009` or `/dev/input/by-path/...?id=08ff:0009`, with the options `?layout=de&codes=text`. */
export function parseKeyboardName(text: string): ParsedName {
  const [device = "", query = ""] = text.split("?");
  const options = new URLSearchParams(query);
  const layout = layoutNames.find((known) => known === (options.get("layout") ?? "us"));
  if (layout === undefined)
    return error(`there is no layout ${options.get("layout")}: use one of ${layoutNames.join(", ")}`);
  const codes = options.get("codes") ?? undefined;
  if (codes !== undefined && codes !== "uid" && codes !== "text")
    return error("codes is uid, for the numbers of cards, or text, for barcodes");
  const isNode = device.startsWith("/dev/");
  const id = (isNode ? options.get("id") : device)?.toLowerCase();
  if (id !== undefined && !idForm.test(id))
    return error("name the reader by its USB id, as hid-keyboard:08ff:0009; `lsusb` lists them");
  return { kind: "name", name: { node: isNode ? device : undefined, id, layout, codes } };
}

function error(why: string): ParsedName {
  return { kind: "error", why };
}
