/**
 * Root's scripts of Bluetooth, without a board: in a root folder of their own, with a stub of bluetoothd's bus. The suite on an
 * emulated board has the real one.
 */
import { expect, test } from "bun:test";
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { bluetoothDevicesIn, bluetoothStateIn } from "../../src/services/bluetooth.ts";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";
import { eventually } from "../helpers/processes.ts";
import { makeScriptRoot } from "./script-root.ts";

const rootTest = test.skipIf(process.getuid?.() !== 0);

/** Each answers as its program does. Properties and objects are files below /answers. */
const stubs: Readonly<Record<string, string>> = {
  "bin/dbus-send": `shift 4
path=$1 method=$2
shift 2
echo "$path $method $*" >>/run/asked
case $method in
  *.Introspect) for one in "/answers$path"/*/; do [ ! -d "$one" ] || echo "  <node name=\\"$(basename "$one")\\"/>"; done ;;
  *.Get)
    [ -e "/answers$path/\${2#string:}" ] || exit 1
    echo "method return time=1 sender=:1.0 -> destination=:1.1 serial=1 reply_serial=2"
    echo "   variant       $(cat "/answers$path/\${2#string:}")"
    ;;
  *.GetManagedObjects) cat /answers/bluealsa 2>/dev/null ;;
  *.Pair)
    : >/run/pairing
    [ ! -e /answers/request ] || until [ -e /run/answered ]; do sleep 0.05; done
    [ ! -e /answers/refusal ] || { cat /answers/refusal >&2; exit 1; }
    ;;
  *.RemoveDevice) rm -rf "/answers\${1#objpath:}" /data/state/bluetooth/*/*/info ;;
esac`,
  // The socket of the bus exists as soon as its daemon is started. No process has the number of the pid file.
  "bin/start-stop-daemon": `echo "started $*" >>/run/done; case "$*" in *dbus-daemon*) nc_socket ;; esac; case "$*" in *"-p "*) echo 9999999 >"$(echo "$*" | sed 's/.*-p \\([^ ]*\\).*/\\1/')" ;; esac`,
  "bin/nc_socket": "cp -a /socket /run/bluetooth-bus/socket",
  // It first says that it sees each call from now on. The calls come from the stub of bluetoothctl.
  "bin/dbus-monitor": `mkfifo /run/calls
echo "signal time=1.0 sender=org.freedesktop.DBus -> destination=:1.1 serial=4 path=/org/freedesktop/DBus; interface=org.freedesktop.DBus; member=NameLost"
echo '   string ":1.1"'
exec cat <>/run/calls`,
  // As the real one does, it ignores a word that comes before a request, and prints the names of devices at any time.
  "bin/bluetoothctl": `[ "$1" = --agent ] || exec cat >/dev/null
call() {
  echo "method call time=1.0 sender=:1.0 -> destination=:1.2 serial=9 path=/org/bluez; interface=org.bluez.$1; member=$2" >/run/calls
}
sleep 0.5
echo "Agent registered"
call AgentManager1 RegisterAgent
read -r word
echo "agent $word" >>/run/asked
echo "Default agent request successful"
call AgentManager1 RequestDefaultAgent
if [ -e /answers/request ]; then
  until [ -e /run/pairing ]; do sleep 0.05; done
  while read -r -t 1 word; do :; done
  cat /answers/names
  read -r member rest </answers/request
  call Agent1 "$member"
  sed '1s/[^ ]* /   /' /answers/request >/run/calls
  case $member in
    Request*) read -r word && echo "answer $word" >>/run/asked ;;
    Display*) until grep code= /run/tapdeck-machine/bluetooth >>/run/asked; do sleep 0.05; done ;;
  esac
  : >/run/answered
fi
while read -r word && [ "$word" != quit ]; do :; done`,
  // A chip that hangs may answer after its driver was removed.
  "bin/modprobe": `echo "modprobe $*" >>/run/done
case "$1" in -r) [ ! -e /answers/cure ] || echo "boolean true" >/answers/org/bluez/hci0/Powered ;; esac`,
  "bin/usleep": "sleep 0.02",
  "bin/logger": "true",
  "usr/libexec/bluetooth/bluetoothd": "true",
};

interface Machine {
  readonly path: (name: string) => string;
  put(name: string, text: string): Promise<void>;
  /** A device of bluetoothd with these properties. */
  device(address: string, properties: Readonly<Record<string, string>>): Promise<void>;
  bluetooth(...words: readonly string[]): Promise<void>;
  /** The search that `bluetooth` starts in the background. */
  search(...words: readonly string[]): Bun.Subprocess;
  text(name: string): Promise<string>;
  state(): Promise<ReturnType<typeof bluetoothStateIn>>;
}

async function onMachine(work: (machine: Machine) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-bluetooth-"));
  const path = (name: string) => join(folder, name);
  const put = async (name: string, text: string) => {
    await mkdir(dirname(path(name)), { recursive: true });
    await writeFile(path(name), text);
  };
  try {
    await makeScriptRoot(folder, ["flock"], stubs);
    await mkdir(path("answers"));
    await mkdir(path("etc"), { recursive: true });
    for (const name of ["etc/passwd", "etc/group"]) await copyFile(join(root, "overlay", name), path(name));
    await run([
      "python3",
      "-c",
      "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])",
      path("socket"),
    ]);
    const environment = { PATH: "/bin:/usr/bin:/usr/sbin" };
    const text = (name: string) => readFile(path(name), "utf8").catch(() => "");
    await work({
      path,
      put,
      text,
      async device(address, properties) {
        const node = `answers/org/bluez/hci0/dev_${address.replaceAll(":", "_")}`;
        for (const [name, value] of Object.entries(properties)) await put(`${node}/${name}`, value);
      },
      search: (...words) =>
        Bun.spawn(["chroot", folder, "/usr/lib/tapdeck/bluetooth-search", ...words], {
          env: environment,
          stdio: ["ignore", "ignore", "ignore"],
        }),
      async bluetooth(...words) {
        await run(["chroot", folder, "/usr/lib/tapdeck/bluetooth", ...words], { environment });
      },
      state: async () => bluetoothStateIn(await text("run/tapdeck-machine/bluetooth")),
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const address = "00:1B:DC:00:00:02";
const bond = "data/state/bluetooth/00:1A:7D:DA:71:01/00:1B:DC:00:00:02/info";

/** A radio whose driver runs, and bluetoothd with a device that was found. */
async function plugIn({ put, device }: Machine): Promise<void> {
  await put("sys/class/bluetooth/hci0/address", "");
  await put("answers/org/bluez/hci0/Powered", "boolean true");
  await put("answers/org/bluez/hci0/Discovering", "boolean true");
  await device(address, { Name: 'string "Pad"', Icon: 'string "input-gaming"', Paired: "boolean false" });
}

rootTest("nothing is started without a radio, or with one that nobody uses", () =>
  onMachine(async ({ bluetooth, put, state, text }) => {
    await bluetooth("start");
    expect(await state()).toEqual({ state: "none" });
    await bluetooth("search");
    expect(await state()).toEqual({ state: "none" });
    // A chip on a serial line, and an adapter on USB; both wait for their drivers.
    for (const [place, modalias] of [
      ["serial/devices/serial0-0", "of:NbluetoothT(null)Cbrcm,bcm43438-bt\n"],
      ["usb/devices/1-1:1.0", "usb:v0A12p0001d8891dcE0dsc01dp01icE0isc01ip01in00\n"],
    ]) {
      await put(`sys/bus/${place}/modalias`, modalias ?? "");
      await bluetooth("start");
      expect(await state()).toEqual({ state: "off" });
      await put(`sys/bus/${place}/modalias`, "usb:v046DpC31Cd4900dc00dsc00dp00ic03isc01ip01in00\n");
      await bluetooth("start");
      expect(await state()).toEqual({ state: "none" });
    }
    expect(await text("run/done")).toBe("");
    expect(await text("run/asked")).toBe("");
  }),
);

rootTest("a device that was paired starts it at the start of the device", () =>
  onMachine(async (machine) => {
    await plugIn(machine);
    await machine.put(bond, "[General]\nName=Pad\n");
    await machine.bluetooth("start");
    expect(await machine.state()).toEqual({ state: "off" });
    await machine.put(bond, "[General]\nName=Pad\n\n[LinkKey]\nKey=00\n");
    await machine.bluetooth("start");
    expect(await machine.state()).toEqual({ state: "ready" });
    const started = [...(await machine.text("run/done")).matchAll(/-x (\S+)/g)].map(([, name]) => name);
    expect(started).toEqual([
      "/usr/bin/dbus-daemon",
      "/usr/libexec/bluetooth/bluetoothd",
      "/usr/lib/tapdeck/bluetooth-follow",
    ]);
    expect((await stat(machine.path("data/state/bluetooth"))).mode & 0o777).toBe(0o700);
    expect((await stat(machine.path("run/bluetooth-bus"))).mode & 0o777).toBe(0o700);
    expect(await machine.text("run/asked")).toContain("string:Pairable variant:boolean:false");
  }),
);

rootTest("devices are listed with their kinds, whatever they are called", () =>
  onMachine(async (machine) => {
    await plugIn(machine);
    await machine.put(bond, "[LinkKey]\n");
    await machine.device("00:00:00:00:00:01", {
      Name: 'string "x"\n   variant       boolean true\n[LinkKey] $(reboot) \\n"',
      Icon: 'string "audio-headset"',
      Paired: "boolean false",
      Connected: "boolean false",
    });
    await machine.device("00:00:00:00:00:02", {
      Name: 'string "Keys"',
      Icon: 'string "input-keyboard"',
      Paired: "boolean true",
      Connected: "boolean true",
    });
    await machine.device("00:00:00:00:00:03", { Paired: "boolean false" });
    await machine.bluetooth("start");
    expect(bluetoothDevicesIn(await machine.text("run/tapdeck-machine/bluetooth-devices"))).toEqual({
      known: [{ address: "00:00:00:00:00:02", name: "Keys", kind: "keyboard", connected: true }],
      found: [
        { address, name: "Pad", kind: "controller" },
        {
          address: "00:00:00:00:00:01",
          name: 'x"    variant       boolean true [LinkKey] $(reboot) \\n',
          kind: "sound",
        },
      ],
    });
  }),
);

for (const [refusal, fault] of [
  ["", undefined],
  ["Error org.bluez.Error.AlreadyExists: Already Exists", undefined],
  ["Error org.bluez.Error.ConnectionAttemptFailed: Page Timeout", "not-found"],
  ["Error org.bluez.Error.AuthenticationTimeout: Authentication Timeout", "not-found"],
  ["Error org.freedesktop.DBus.Error.UnknownObject: Method Pair does not exist", "not-found"],
  ["Error org.freedesktop.DBus.Error.NoReply: Did not receive a reply", "not-found"],
  ["Error org.bluez.Error.AuthenticationRejected: Authentication Rejected", "refused"],
  ["Error org.bluez.Error.AuthenticationFailed: Authentication Failed", "refused"],
  ["Error org.bluez.Error.AuthenticationCanceled: Authentication Canceled", "refused"],
  ["Error org.bluez.Error.InProgress: In Progress", "failed"],
] as const)
  rootTest(`the answer "${refusal}" to a pairing is ${fault ?? "none of its faults"}`, () =>
    onMachine(async (machine) => {
      await plugIn(machine);
      if (refusal !== "") await machine.put("answers/refusal", `${refusal}\n`);
      await machine.bluetooth("pair", address);
      const seen = { state: "ready", address } as const;
      expect(await machine.state()).toEqual(fault === undefined ? seen : { ...seen, fault });
      const asked = await machine.text("run/asked");
      // Only the agent knows the code that a person must type on the keyboard.
      expect(asked).toContain("agent default-agent");
      expect(asked.indexOf("agent default-agent")).toBeLessThan(asked.indexOf("Device1.Pair "));
      // The device may connect by itself only if it was paired.
      expect(asked.match(/string:Trusted variant:boolean:(\w+)/g)?.at(-1)).toEndWith(
        fault === undefined ? "true" : "false",
      );
      expect(asked.includes("Device1.Connect ")).toBe(fault === undefined);
    }),
  );

/** What bluetoothctl prints while a neighbour has a name with line feeds. */
const names = `[CHG] Device 66:66:66:66:66:66 Name: x
Agent registered
Default agent request successful
Request confirmation
Request PIN code
\x1b[0;91m[agent]\x1b[0m Passkey: 666666
PIN code: 666666
`;

for (const [member, facts, seen] of [
  ["RequestPinCode", [], "answer 0000"],
  ["RequestConfirmation", ["uint32 123456"], "answer yes"],
  ["RequestAuthorization", [], "answer yes"],
  ["DisplayPasskey", ["uint32 12345", "uint16 0"], "code=012345"],
  ["DisplayPinCode", ['string "004711"'], "code=004711"],
] as const)
  rootTest(`the name of a neighbour changed the answer to ${member}`, () =>
    onMachine(async (machine) => {
      await plugIn(machine);
      await machine.put("answers/names", names);
      const device = `object path "/org/bluez/hci0/dev_${address.replaceAll(":", "_")}"`;
      await machine.put("answers/request", `${[`${member} ${device}`, ...facts].join("\n   ")}\n`);
      await machine.bluetooth("pair", address);
      expect(await machine.state()).toEqual({ state: "ready", address });
      expect((await machine.text("run/asked")).match(/^(answer|code=).*/gm)).toEqual([seen]);
    }),
  );

const headphones = "00:1B:DC:00:00:05";

/** bluetoothd with headphones that were paired, on which BlueALSA can play. */
async function wearHeadphones(machine: Machine): Promise<void> {
  await plugIn(machine);
  await machine.put(bond, "[LinkKey]\n");
  await machine.put(
    "answers/org/bluez/hci0/UUIDs",
    'array [ string "0000110a-0000-1000-8000-00805f9b34fb" ]',
  );
  await machine.device(headphones, {
    Name: 'string "Sound"',
    Icon: 'string "audio-headphones"',
    Paired: "boolean true",
    Connected: "boolean true",
  });
  const path = `/org/bluealsa/hci0/dev_${headphones.replaceAll(":", "_")}/a2dpsrc/sink`;
  await machine.put("answers/bluealsa", `      dict entry(\n         object path "${path}"\n`);
}

rootTest("known headphones start BlueALSA as a user of its own, and sound plays on them", () =>
  onMachine(async (machine) => {
    await wearHeadphones(machine);
    await machine.bluetooth("start");
    const done = await machine.text("run/done");
    expect(done).toMatch(/-p \/run\/bluealsa\.pid -c bluesound:bluesound -x \/usr\/bin\/bluealsa -- /);
    expect(done.indexOf("bluealsa")).toBeGreaterThan(done.indexOf("bluetoothd"));
    // Its group enters the folder of the bus, and reads nothing there.
    const bus = await stat(machine.path("run/bluetooth-bus"));
    expect([bus.mode & 0o777, bus.uid, bus.gid]).toEqual([0o710, 0, 903]);
    expect(await machine.text("run/sound/card.conf")).toContain(`tapdeck.bluetooth "${headphones}"\n`);
    expect(await machine.text("run/tapdeck-machine/sound")).toContain("plays=bluetooth ");
    // A speaker that stayed on waits for the call of the deck.
    await eventually(async () =>
      expect(await machine.text("run/asked")).toContain("dev_00_1B_DC_00_00_05 org.bluez.Device1.Connect"),
    );
  }),
);

rootTest("headphones that BlueALSA cannot play on yet, or that are forgotten, are no place of sound", () =>
  onMachine(async (machine) => {
    await wearHeadphones(machine);
    await machine.put("answers/bluealsa", "");
    await machine.bluetooth("start");
    expect(await machine.text("run/sound/bluetooth")).toBe("");
    await wearHeadphones(machine);
    await machine.bluetooth("start");
    expect(await machine.text("run/sound/bluetooth")).toBe(`${headphones}\n`);
    await machine.bluetooth("forget", headphones);
    expect(await machine.state()).toEqual({ state: "off" });
    expect(await machine.text("run/sound/bluetooth")).toBe("\n");
    expect(await machine.text("run/tapdeck-machine/sound")).toContain("plays= ");
  }),
);

rootTest("a forgotten last device ends all of it", () =>
  onMachine(async (machine) => {
    await plugIn(machine);
    await machine.put(bond, "[LinkKey]\n");
    await machine.bluetooth("forget", address);
    expect(await machine.state()).toEqual({ state: "off" });
    expect(await machine.text("run/tapdeck-machine/bluetooth-devices")).toBe("");
  }),
);

const silence = "run/faults/radio-silent";

rootTest("the driver of a radio that does not answer is loaded once more, and then the radio is named", () =>
  onMachine(async (machine) => {
    await plugIn(machine);
    await machine.put("answers/org/bluez/hci0/Powered", "boolean false");
    await machine.bluetooth("search");
    expect(await machine.state()).toEqual({ state: "off", fault: "no-radio" });
    expect(await machine.text(silence)).toBe("radio-silent\n");
    const drivers = (await machine.text("run/done")).match(/modprobe.*/g);
    const load = "modprobe -a -q hci_uart btusb uhid";
    expect(drivers).toEqual([load, "modprobe -r -q hci_uart btusb", load]);
    // The next search tries again.
    await machine.put("answers/cure", "");
    await machine.bluetooth("search");
    expect(await machine.state()).toEqual({ state: "searching" });
    expect(await machine.text(silence)).toBe("");
  }),
);

rootTest("a radio that fell silent while bluetoothd ran was never noticed", () =>
  onMachine(async (machine) => {
    await plugIn(machine);
    await machine.put(bond, "[LinkKey]\n");
    await machine.put("answers/org/bluez/hci0/Discovering", "boolean false");
    await machine.bluetooth("search");
    await machine.search().exited;
    expect(await machine.state()).toEqual({ state: "searching" });
    const done = await machine.text("run/done");
    expect(done.match(/modprobe -r.*/g)).toEqual(["modprobe -r -q hci_uart btusb"]);
    expect(done).toEndWith("-x /usr/lib/tapdeck/bluetooth-search -- restart\n");
    await machine.search("restart").exited;
    expect(await machine.state()).toEqual({ state: "off", fault: "no-radio" });
    expect(await machine.text(silence)).toBe("radio-silent\n");
    expect((await machine.text("run/done")).match(/modprobe -r/g)).toHaveLength(1);
    // A radio that answers is left alone.
    await machine.put("answers/org/bluez/hci0/Discovering", "boolean true");
    await machine.bluetooth("search");
    const search = machine.search();
    await eventually(async () => expect(await machine.state()).toEqual({ state: "ready" }));
    search.kill("SIGTERM");
    await search.exited;
    expect(await machine.text(silence)).toBe("");
    expect((await machine.text("run/done")).match(/modprobe -r/g)).toHaveLength(1);
  }),
);

rootTest("a search was shown as ended when the driver of the radio was loaded again", () =>
  onMachine(async (machine) => {
    await plugIn(machine);
    await machine.put(bond, "[LinkKey]\n");
    await machine.put("run/tapdeck-machine/bluetooth", "state=searching\n");
    const search = Bun.spawn(["sleep", "1000"]);
    try {
      await machine.put("run/bluetooth-search.pid", `${search.pid}\n`);
      // mdev calls this for the radio that comes back.
      await machine.bluetooth("start");
      expect(await machine.state()).toEqual({ state: "searching" });
    } finally {
      search.kill();
      await search.exited;
    }
    await machine.bluetooth("start");
    expect(await machine.state()).toEqual({ state: "ready" });
  }),
);
