/**
 * The keys of macros on a real kernel's uinput. They are read back from the event nodes by the numbers of the kernel's
 * header. The console shows them as letters of the kernel's layout.
 */
import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { command, type Deck } from "./deck.ts";

// The path of the header for the compiler of the guest.
const headers = process.arch === "arm64" ? "/usr/include" : "/usr/aarch64-linux-gnu/include";
const header = await readFile(`${headers}/linux/input-event-codes.h`, "utf8");
const eventBytes = 24; // The size of struct input_event on a 64-bit machine: time 16, type 2, code 2, value 4.

export function testInput(deckOf: () => Deck, testMs: number): void {
  test(
    "a keyboard macro is typed: the kernel hears each key go down and up, and its console reads the text",
    async () => {
      const deck = deckOf();
      await plays(deck, "input.keyboard:{delay:10}");
      const { node, handlers } = await deviceOf(deck, "Tapdeck keyboard");
      expect(handlers).toContain("kbd");
      await deck.guest.ask("exec 3< /dev/tty1; head -n 1 <&3 > /tmp/line & exec 3<&-");
      const expected = [
        ...shifted("KEY_T"),
        ...["KEY_A", "KEY_P", "KEY_MINUS", "KEY_1"].flatMap(pressed),
        ...shifted("KEY_1"),
        ...pressed("KEY_SPACE"),
        ...shifted("KEY_GRAVE"),
        ...["KEY_X", "KEY_BACKSPACE"].flatMap(pressed),
        ...together("KEY_LEFTCTRL", "KEY_A"),
        ...["KEY_F12", "KEY_ENTER"].flatMap(pressed),
      ];
      const macro = "input.keyboard:Tap-1! ~x{backspace}{ctrl+a}{f12}{enter}?speed=20";
      expect(await hears(deck, node, macro, expected.length)).toEqual(expected);
      // The tty's own backspace removed the x; Ctrl and A give one character, and F12 a sequence.
      await deck.waitFor("line on the console", async () => (await deck.guest.ask("cat /tmp/line")) !== "");
      const line = (await deck.guest.ask("cat /tmp/line")).replace("\x1b[24~", "");
      expect(line).toBe("Tap-1! ~\x01");
    },
    testMs,
  );

  test(
    "a gamepad macro is pressed: the kernel takes the device for a joystick, and hears each button by its place",
    async () => {
      const deck = deckOf();
      await plays(deck, "input.gamepad:{delay:10}");
      const { node, handlers } = await deviceOf(deck, "Tapdeck gamepad");
      expect(handlers).toMatch(/\bjs\d+\b/);
      const expected = [
        ...["BTN_DPAD_UP", "BTN_DPAD_DOWN", "BTN_DPAD_LEFT", "BTN_DPAD_RIGHT"],
        ...["BTN_EAST", "BTN_SOUTH", "BTN_NORTH", "BTN_WEST", "BTN_START", "BTN_TL2", "BTN_TR"],
      ].flatMap(pressed);
      const macro = "input.gamepad:^v<>ABXY{start}{l2}{hold:r:40}?speed=20";
      expect(await hears(deck, node, macro, expected.length)).toEqual(expected);
    },
    testMs,
  );

  test(
    "the virtual devices go as the service ends",
    async () => {
      const { guest, waitFor } = deckOf();
      await guest.ask("kill $(cat /tmp/pid)");
      const list = () => guest.ask("cat /proc/bus/input/devices");
      await waitFor("end of the devices", async () => !(await list()).includes("Tapdeck"));
    },
    testMs,
  );
}

/** Taps a card with this text. */
async function plays(deck: Deck, macro: string): Promise<void> {
  const said = await deck.guest.ask(`${command} tap '**${macro}' < /dev/null 2>&1; echo "code $?"`);
  expect(said).toEndWith("code 0");
}

/** The event node of a device, and the kernel's handlers of it (/proc/bus/input/devices). */
async function deviceOf(deck: Deck, name: string) {
  const devices = await deck.guest.ask("cat /proc/bus/input/devices");
  const device = devices.split("\n\n").find((one) => one.includes(`Name="${name}"`)) ?? "";
  const handlers = /Handlers=(.*)/.exec(device)?.[1] ?? "";
  // A program made the device (BUS_VIRTUAL).
  expect(device).toContain("Bus=0006");
  return { node: `/dev/input/${/event\d+/.exec(handlers)?.[0]}`, handlers };
}

/**
 * The events of the node for a macro with `count` events or more: `30+` and `30-`, each followed by a report of its own.
 */
async function hears(deck: Deck, node: string, macro: string, count: number): Promise<readonly string[]> {
  // The node is open once the shell continues.
  await deck.guest.ask(`exec 3< ${node}; cat <&3 > /tmp/heard & reader=$!; exec 3<&-`);
  await plays(deck, macro);
  const bytes = async () => Number(await deck.guest.ask("stat -c %s /tmp/heard"));
  await deck.waitFor(`${count} events`, async () => (await bytes()) >= count * 2 * eventBytes);
  const hex = await deck.guest.ask("kill $reader; hexdump -v -e '1/1 \"%02x\"' /tmp/heard");
  const events = [...eventsIn(Uint8Array.fromHex(hex))];
  expect(events.filter((_, index) => index % 2 === 1)).toEqual(
    Array.from({ length: events.length / 2 }, () => "SYN_REPORT"),
  );
  return events.filter((_, index) => index % 2 === 0);
}

function* eventsIn(bytes: Uint8Array): Generator<string> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += eventBytes) {
    const [type, code, value] = [
      view.getUint16(at + 16, true),
      view.getUint16(at + 18, true),
      view.getInt32(at + 20, true),
    ];
    if (type === 0) yield code === 0 ? "SYN_REPORT" : `SYN ${code}`;
    else yield type === 1 ? `${code}${{ 0: "-", 1: "+", 2: "=" }[value]}` : `${type}:${code}`;
  }
}

/** The number of a key in the kernel's header. */
function codeOf(name: string): number {
  const [, value = ""] = new RegExp(`^#define\\s+${name}\\s+(0x[0-9a-f]+|\\d+)`, "m").exec(header) ?? [];
  if (value === "") throw new Error(`the header knows no ${name}`);
  return Number(value);
}

function pressed(name: string): readonly string[] {
  return together(name);
}

function shifted(name: string): readonly string[] {
  return together("KEY_LEFTSHIFT", name);
}

/** The keys are pressed in order, and released in the opposite order. */
function together(...names: readonly string[]): readonly string[] {
  const codes = names.map(codeOf);
  return [...codes.map((code) => `${code}+`), ...codes.toReversed().map((code) => `${code}-`)];
}
