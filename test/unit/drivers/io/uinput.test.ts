/**
 * Virtual input devices: our bytes and request numbers against the kernel's own headers, compiled here. The order of
 * calls is checked with a stand-in of /dev/uinput that has the kernel's states.
 */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createUinput,
  encodeKeys,
  encodeSetup,
  sysNameBytes,
  type UinputFile,
  uinputRequests,
} from "../../../../drivers/io/uinput.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { codesOf, gamepad, keyboard } from "../../../../src/script/input-keys.ts";

const never = new AbortController().signal;

const headerProgram = `
#include <stdio.h>
#include <string.h>
#include <linux/uinput.h>
static void hex(const void *p, size_t n) { for (size_t i = 0; i < n; i++) printf("%02x", ((const unsigned char *)p)[i]); printf("\\n"); }
int main(void) {
  printf("%lx %lx %lx %lx %lx %lx\\n", (long)UI_DEV_CREATE, (long)UI_DEV_DESTROY, (long)UI_DEV_SETUP & 0xffffffff,
    (long)UI_SET_EVBIT & 0xffffffff, (long)UI_SET_KEYBIT & 0xffffffff, (long)UI_GET_SYSNAME(${sysNameBytes}) & 0xffffffff);
  struct uinput_setup setup; memset(&setup, 0, sizeof setup);
  setup.id.bustype = BUS_VIRTUAL; setup.id.vendor = 0x1234; setup.id.product = 0x5678; setup.id.version = 0x9abc;
  strcpy(setup.name, "A name");
  hex(&setup, sizeof setup);
  struct input_event events[4]; memset(events, 0, sizeof events);
  events[0].type = EV_KEY; events[0].code = KEY_LEFTSHIFT; events[0].value = 1; events[1].type = EV_SYN; events[1].code = SYN_REPORT;
  events[2].type = EV_KEY; events[2].code = BTN_DPAD_RIGHT; events[2].value = 1; events[3] = events[1];
  hex(events, sizeof events);
  printf("%d %d %d %d %d %d %d\\n", KEY_A, KEY_ENTER, KEY_F12, KEY_GRAVE, KEY_DELETE, KEY_SLASH, KEY_LEFTMETA);
  printf("%d %d %d %d %d %d %d\\n", BTN_EAST, BTN_NORTH, BTN_TL2, BTN_START, BTN_MODE, BTN_THUMBR, BTN_DPAD_UP);
  return 0;
}`;

test("requests, layouts and key numbers are those of the kernel's headers", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-uinput-"));
  try {
    await writeFile(join(folder, "headers.c"), headerProgram);
    const program = join(folder, "headers");
    const compiled = Bun.spawnSync(["gcc", "-o", program, join(folder, "headers.c")]);
    expect(compiled.stderr.toString()).toBe("");
    const lines = Bun.spawnSync([program]).stdout.toString().trimEnd().split("\n");
    const { create, destroy, setup, setEventBit, setKeyBit, sysName } = uinputRequests;
    const numbers = [create, destroy, setup, setEventBit, setKeyBit, sysName];
    const encoded = encodeSetup({ name: "A name", vendor: 0x1234, product: 0x5678, version: 0x9abc });
    const key = (name: string) => keyboard.chars.get(name)?.at(-1) ?? keyboard.names.get(name)?.[0];
    const button = (name: string) => gamepad.chars.get(name)?.[0] ?? gamepad.names.get(name)?.[0];
    expect(lines).toEqual([
      numbers.map((number) => number.toString(16)).join(" "),
      encoded.toHex(),
      encodeKeys([42, 0x223], true).toHex(),
      ["a", "enter", "f12", "`", "del", "/", "super"].map(key).join(" "),
      ["A", "X", "l2", "start", "menu", "r3", "^"].map(button).join(" "),
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** /dev/uinput: accepts bits and a setup before the device is made, events after, and no call out of order. */
function standIn(sysFolder: string, devFolder: string, { node = true } = {}) {
  const said: string[] = [];
  const keys = new Set<number>();
  let [hasKeyEvents, isSetUp, isMade, isOpen] = [false, false, false, true];
  const file: UinputFile = {
    ioctlValue(request, value) {
      if (request === uinputRequests.setEventBit && !isMade) hasKeyEvents ||= value === 1;
      else if (request === uinputRequests.setKeyBit && !isMade && hasKeyEvents) keys.add(value);
      else if (request === uinputRequests.create && isSetUp && !isMade) {
        isMade = true;
        said.push("made");
        void mkdir(join(sysFolder, "input7/event3"), { recursive: true }).then(() => {
          if (node) return writeFile(join(devFolder, "event3"), "");
        });
      } else if (request === uinputRequests.destroy && isMade) {
        isMade = false;
        said.push("destroyed");
      } else return false;
      return true;
    },
    ioctl(request, argument) {
      if (request === uinputRequests.setup && !isMade && argument.length === 92) {
        isSetUp = true;
        said.push(`set up ${new TextDecoder().decode(argument.subarray(8, 88)).replace(/\0+$/, "")}`);
        return true;
      }
      if (request !== uinputRequests.sysName || !isMade) return false;
      argument.set(new TextEncoder().encode("input7"));
      return true;
    },
    write(bytes) {
      if (!isOpen || !isMade || bytes.length % 24 !== 0) throw new Error("EINVAL");
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      for (let at = 16; at < bytes.length; at += 24) {
        const [type, code, value] = [
          view.getUint16(at, true),
          view.getUint16(at + 2, true),
          view.getInt32(at + 4, true),
        ];
        // The kernel drops keys that the device does not have.
        if (type === 1 && keys.has(code)) said.push(`${value === 1 ? "+" : "-"}${code}`);
        if (type === 0) said.push(".");
      }
    },
    close() {
      isOpen = false;
      said.push("closed");
    },
  };
  return { file, said, keys };
}

async function withFolders(run: (sysFolder: string, devFolder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-uinput-"));
  try {
    await mkdir(join(folder, "dev"));
    await run(join(folder, "sys"), join(folder, "dev"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("a device is set up, made, waited for, used and taken away, in this order", () =>
  withFolders(async (sysFolder, devFolder) => {
    const kernel = standIn(sysFolder, devFolder);
    const open = createUinput({ openFile: () => kernel.file, sysFolder, devFolder, clock: systemClock });
    const device = await open({ name: "Tapdeck keyboard", product: 1, keys: codesOf(keyboard) }, never);
    expect(await Bun.file(join(devFolder, "event3")).exists()).toBe(true);
    device.turn([42, 30], true);
    device.turn([30, 42], false);
    device.close();
    device.close();
    device.turn([30], true);
    expect(kernel.said.join(" ")).toBe(
      "set up Tapdeck keyboard made +42 . +30 . -30 . -42 . destroyed closed",
    );
    expect([...kernel.keys]).toEqual([...codesOf(keyboard)]);
  }));

test("a node that does not come is not waited for without end, and an abort ends the wait and the device", () =>
  withFolders(async (sysFolder, devFolder) => {
    const kernel = standIn(sysFolder, devFolder, { node: false });
    let waitedMs = 0;
    const clock = {
      ...systemClock,
      after(ms: number, run: () => void) {
        waitedMs += ms;
        return systemClock.after(0, run);
      },
    };
    const open = createUinput({ openFile: () => kernel.file, sysFolder, devFolder, clock });
    (await open({ name: "n", product: 1, keys: [1] }, never)).turn([1], true);
    expect(kernel.said).toContain("+1");
    expect(waitedMs).toBeLessThan(3000);

    const other = standIn(sysFolder, devFolder, { node: false });
    const ending = new AbortController();
    const opening = createUinput({ openFile: () => other.file, sysFolder, devFolder, clock: systemClock })(
      { name: "n", product: 1, keys: [1] },
      ending.signal,
    );
    ending.abort(new Error("stopped"));
    expect(await opening.catch((error) => error.message)).toBe("stopped");
    expect(other.said.at(-1)).toBe("closed");
  }));

test.each([
  ["ENOENT", /modprobe uinput/],
  ["ENODEV", /modprobe uinput/],
  ["EACCES", /group `input`/],
  ["EIO", /EIO/],
])("%s is told with what to do", async (code, sentence) => {
  const openFile = () => {
    throw Object.assign(new Error(code), { code });
  };
  const open = createUinput({ openFile, sysFolder: "/none", devFolder: "/none", clock: systemClock });
  const refused = await open({ name: "n", product: 1, keys: [] }, never).catch((error) => error);
  expect(refused).toMatchObject({ code: "failed" });
  expect(refused.message).toMatch(sentence);
});

test("a kernel that refuses leaves no open file", async () => {
  const said: string[] = [];
  const file: UinputFile = {
    ioctl: () => false,
    ioctlValue: () => true,
    write: () => {},
    close: () => void said.push("closed"),
  };
  const open = createUinput({
    openFile: () => file,
    sysFolder: "/none",
    devFolder: "/none",
    clock: systemClock,
  });
  await expect(open({ name: "n", product: 1, keys: [30] }, never)).rejects.toThrow("would not make");
  expect(said).toEqual(["closed"]);
});
