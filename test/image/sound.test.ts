/**
 * The sound of the image, without a board: the card that plays, the effect of the choice on a program of ALSA, and the
 * frames for HDMI.
 */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";
import { eventually } from "../helpers/processes.ts";
import { makeScriptRoot } from "./script-root.ts";

const overlay = join(root, "overlay");

async function inFolder<Value>(work: (folder: string) => Promise<Value>): Promise<Value> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-sound-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface CardFacts {
  readonly id: string;
  /** Vendor and product of a USB card. */
  readonly usb?: string;
  /** The devices of the card, in the form of /proc/asound/pcm, which lists the abilities of each. */
  readonly devices?: readonly string[];
}

const hdmi = { id: "vc4hdmi" };
const jack = { id: "Headphones" };
const dongle = { id: "Device", usb: "0d8c:0014", devices: ["playback 1 : capture 1"] };
const microphone = { id: "Mic", usb: "046d:0825", devices: ["capture 1"] };
const pad = { id: "Controller", usb: "054c:09cc" };

async function putCards(folder: string, cards: readonly CardFacts[]): Promise<void> {
  const put = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  await rm(join(folder, "proc"), { recursive: true, force: true });
  const lines = cards.flatMap(({ devices = ["playback 1"] }, card) =>
    devices.map((can, device) => `0${card}-0${device}: Name : Name : ${can}\n`),
  );
  await put("proc/asound/pcm", lines.join(""));
  for (const [number, { id, usb }] of cards.entries()) {
    await put(`proc/asound/card${number}/id`, `${id}\n`);
    // A link on a real system.
    if (id === "Loopback") await put(`proc/asound/${id}`, "");
    if (usb !== undefined) await put(`proc/asound/card${number}/usbid`, `${usb}\n`);
  }
  await put("usr/share/libretro/autoconfig/sdl2/tapdeck-054c-09cc.cfg", "");
}

/** The output of `sound` for these cards, with a television at these sockets. */
const chosen = (
  cards: readonly CardFacts[],
  televisions: readonly number[] = [],
  wanted?: string,
  headphones = "",
) =>
  inFolder(async (folder) => {
    await putCards(folder, cards);
    await mkdir(join(folder, "run/sound"), { recursive: true });
    await writeFile(join(folder, "run/sound/bluetooth"), `${headphones}\n`);
    if (wanted !== undefined) await writeFile(join(folder, "run/sound/wanted"), `${wanted}\n`);
    for (const socket of [1, 2]) {
      const connector = join(folder, `sys/class/drm/card0-HDMI-A-${socket}`);
      await mkdir(connector, { recursive: true });
      await writeFile(
        join(connector, "status"),
        televisions.includes(socket) ? "connected\n" : "disconnected\n",
      );
    }
    await run(["busybox", "ash", join(overlay, "usr/lib/tapdeck/sound"), folder]);
    const text = await readFile(join(folder, "run/sound/card.conf"), "utf8");
    const told = await readFile(join(folder, "run/tapdeck-machine/sound"), "utf8");
    // A player that can open the lock could hold it.
    expect((await stat(join(folder, "run/sound/lock"))).mode & 0o777).toBe(0o600);
    const facts = [...text.matchAll(/^tapdeck\.(\w+) "?(.*?)"?$/gm)].map(([, name, value]) => [name, value]);
    return { ...Object.fromEntries(facts), told: told.trim() };
  });

const loop = { id: "Loopback" };
const plain = (card: string, device = "0") => ({ card, device });
const looped = (television: string) => ({ card: "Loopback", device: "0", television });
const onPlace = (place: string, device = "0") => ({
  card: "Loopback",
  device: "0",
  place,
  place_device: device,
});

for (const [name, cards, televisions, expected] of [
  ["HDMI of a Zero 2 W, with a television or without", [hdmi], [], looped("vc4hdmi")],
  ["HDMI with a television rather than the jack", [jack, hdmi], [1], looped("vc4hdmi")],
  ["the jack if no television is there", [hdmi, jack], [], plain("Headphones")],
  [
    "the second socket of a Pi 4 if the television is there",
    [{ id: "vc4hdmi0" }, { id: "vc4hdmi1" }],
    [2],
    looped("vc4hdmi1"),
  ],
  ["the first socket of a Pi 4 otherwise", [{ id: "vc4hdmi0" }, { id: "vc4hdmi1" }], [], looped("vc4hdmi0")],
  ["a USB card, whichever number it has", [jack, hdmi, dongle], [1], plain("Device")],
  ["HDMI rather than a microphone", [hdmi, microphone], [1], looped("vc4hdmi")],
  ["HDMI rather than a game controller", [pad, hdmi], [1], looped("vc4hdmi")],
  ["the loopback card, if there is one, for a USB card", [loop, dongle], [], onPlace("Device", "0")],
  [
    "the first device of a card that plays",
    [{ ...dongle, devices: ["capture 1", "playback 1"] }],
    [],
    plain("Device", "1"),
  ],
  [
    "the television, even if the loopback card comes first",
    [{ id: "Loopback" }, hdmi],
    [1],
    looped("vc4hdmi"),
  ],
  ["any other card", [{ id: "PCH" }], [], plain("PCH")],
  ["no card if there is none", [], [], {}],
] as const)
  test(`sound plays on ${name}`, async () => {
    const { told: _, ...choice } = await chosen(cards, televisions);
    expect(choice).toEqual(expected);
  });

test.each([
  ["usb", onPlace("Device"), "wanted=usb plays=usb there=jack television usb"],
  ["television", looped("vc4hdmi"), "wanted=television plays=television there=jack television usb"],
  ["jack", onPlace("Headphones"), "wanted=jack plays=jack there=jack television usb"],
  ["auto", onPlace("Device"), "wanted=auto plays=usb there=jack television usb"],
  [".*", onPlace("Device"), "wanted=.* plays=usb there=jack television usb"],
] as const)("sound plays where the owner wants it: %s", async (wanted, expected, told) => {
  expect(await chosen([jack, loop, hdmi, dongle], [1], wanted)).toEqual({ ...expected, told });
});

test.each([
  ["auto", "bluetooth"],
  ["bluetooth", "bluetooth"],
  ["television", "television"],
] as const)("with headphones by Bluetooth, the wish %s is %s", async (wanted, plays) => {
  const address = "00:1B:DC:00:00:05";
  const told = `wanted=${wanted} plays=${plays} there=bluetooth jack television usb`;
  const choice = plays === "television" ? looped("vc4hdmi") : { ...plain("Loopback"), bluetooth: address };
  expect(await chosen([jack, loop, hdmi, dongle], [1], wanted, address)).toEqual({ ...choice, told });
  // The headphones have left.
  const now = await chosen([jack, loop, hdmi], [1], wanted);
  expect(now).toMatchObject({ ...looped("vc4hdmi"), told: expect.stringContaining("plays=television") });
});

test("without the wanted place, sound plays on the best one, and the report says so", async () => {
  const told = "wanted=usb plays=television there=jack television";
  expect(await chosen([jack, loop, hdmi], [1], "usb")).toEqual({ ...looped("vc4hdmi"), told });
  expect(await chosen([loop], [], "usb")).toEqual({ told: "wanted=usb plays= there=" });
});

// A scan of all devices uses the short name, and an event of the kernel the path.
test.each(["controlC1", "snd/controlC1"])("mdev chooses the card again at %s", async (name) => {
  const lines = (await readFile(join(overlay, "etc/mdev.conf"), "utf8")).split("\n");
  const rules = lines.filter((line) => /^[^#\s]/.test(line)).map((line) => line.split(/\s+/));
  // The first rule that matches is used.
  const rule = rules.find(([pattern = ""]) => new RegExp(`^(?:${pattern})$`).test(name));
  expect(rule?.at(-1)).toBe("*/usr/lib/tapdeck/sound");
});

test("a card that comes and goes changes the choice, and the copying to it starts again only then", () =>
  inFolder(async (folder) => {
    await mkdir(join(folder, "run/sound"), { recursive: true });
    /** True if the choice among these cards has ended the process that copies. */
    const ends = async (cards: readonly CardFacts[]) => {
      // This process stands for the one that copies. It ends only when its input is closed, which happens after a signal
      // would have reached it.
      const copying = Bun.spawn(["cat"], { stdin: "pipe", stdout: "ignore" });
      await writeFile(join(folder, "run/sound/sound-out.pid"), `${copying.pid}\n`);
      await putCards(folder, cards);
      await run(["busybox", "ash", join(overlay, "usr/lib/tapdeck/sound"), folder]);
      copying.stdin.end();
      await copying.exited;
      return copying.signalCode === "SIGTERM";
    };
    expect(await ends([hdmi])).toBe(true);
    expect(await ends([hdmi])).toBe(false);
    expect(await ends([hdmi, dongle])).toBe(true);
    expect(await readFile(join(folder, "run/sound/card.conf"), "utf8")).toContain('"Device"');
    expect(await ends([hdmi, dongle, microphone])).toBe(false);
    expect(await ends([hdmi])).toBe(true);
  }));

test("the copying to a card ends with its script, and runs only for a card behind the loopback card", () =>
  inFolder(async (folder) => {
    const text = await readFile(join(overlay, "usr/lib/tapdeck/sound-out"), "utf8");
    const script = join(folder, "sound-out");
    await writeFile(script, text.replace("folder=/run/sound", `folder=${folder}`));
    await mkdir(join(folder, "bin"));
    const stub = async (name: string, lines: string) =>
      writeFile(join(folder, "bin", name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
    await stub("modprobe", "exit 1");
    // Each stub writes its process id and its words into the pipe, waits until `note` reads them, and then runs until it
    // is ended.
    await run(["mkfifo", join(folder, "notes")]);
    await stub("start-stop-daemon", `echo "$$ $*" >${folder}/notes; exec cat ${folder}/notes`);
    await stub("sleep", `echo "$$ sleeps $*" >${folder}/notes; exec cat ${folder}/notes`);
    const start = () =>
      Bun.spawn(["busybox", "ash", script], { env: { PATH: `${folder}/bin:${process.env.PATH}` } });
    const note = () => run(["head", "-n", "1", join(folder, "notes")]);
    const end = async (child: Bun.Subprocess) => {
      process.kill(Number(await readFile(join(folder, "sound-out.pid"), "utf8")));
      await child.exited;
    };

    const idle = start();
    expect(await note()).toMatch(/ sleeps 86400$/m);
    await end(idle);
    await writeFile(join(folder, "card.conf"), 'tapdeck.card "Loopback"\ntapdeck.television "vc4hdmi"\n');
    const copying = start();
    const [pid = "", ...words] = (await note()).trim().split(" ");
    const own = words.slice(0, words.indexOf("--"));
    // As root it would take real-time priority, and the whole processor if the television never makes it wait.
    expect(own.join(" ")).toBe("-S -q -c tapdeck:audio -x /usr/bin/alsaloop");
    expect(words).toEqual(expect.arrayContaining(["--cdevice=looped", "--pdevice=television"]));
    await end(copying);
    // Only this user reaches the bus of Bluetooth.
    await writeFile(
      join(folder, "card.conf"),
      'tapdeck.card "Loopback"\ntapdeck.bluetooth "00:1B:DC:00:00:05"\n',
    );
    const wireless = start();
    expect(await note()).toMatch(/ -c bluesound:audio -x \/usr\/bin\/alsaloop -- .*--pdevice=bluetooth /);
    await end(wireless);
    // Waits for the end of the process, and fails if it does not end.
    await run(["timeout", "20", "tail", `--pid=${pid}`, "--follow", "/dev/null"]);
  }));

/** The image's configuration, with this choice of a card, and files instead of the cards. */
async function alsa(folder: string, choice: string): Promise<Readonly<Record<string, string>>> {
  await writeFile(join(folder, "card.conf"), choice);
  const ours = (await readFile(join(overlay, "etc/asound.conf"), "utf8")).replace(
    "/run/sound/card.conf",
    join(folder, "card.conf"),
  );
  await writeFile(join(folder, "asound.conf"), ours);
  const system = await readFile("/usr/share/alsa/alsa.conf", "utf8");
  const path = join(folder, "alsa.conf");
  await writeFile(path, system.replace(/"\/etc\/asound\.conf[^"]*"/, `"${join(folder, "asound.conf")}"`));
  return { ALSA_CONFIG_PATH: path };
}

test("a program finds the card, its volume and the mixer by the file that `sound` writes", () =>
  inFolder(async (folder) => {
    const environment = await alsa(folder, 'tapdeck.card "Chosen"\ntapdeck.device 0\n');
    const complaint = (program: string, ...words: readonly string[]) =>
      run([program, ...words], { environment }).then(
        () => "it played",
        (error) => String(error),
      );
    // No computer that runs the tests has a card of this name, so the program prints the name that it looked for.
    expect(await complaint("aplay", "-q", "-d", "1", "-t", "raw", "/dev/zero")).toMatch(
      /Chosen|cannot find card/,
    );
    expect(await complaint("amixer", "get", "Master")).toContain("Cannot get card index for Chosen");
  }));

test("a second program joins a card that has several subdevices", async () => {
  const text = await readFile(join(overlay, "etc/asound.conf"), "utf8");
  const cards = text.match(/type hw\s+card .*\s+device .*(?:\s+#.*)*\s+subdevice 0/g) ?? [];
  // The card that programs share, and the other end of the loopback.
  expect(cards.length).toBe(2);
});

/** The 16 upper bits of the sample in a subframe: bits 4 to 27 are the sample, and the lower 4 the preamble (IEC 60958-1). */
const sampleOf = (subframe: number) => ((subframe >>> 12) << 16) >> 16;

test("the television gets every sample of a program as a frame of IEC 60958", () =>
  inFolder(async (folder) => {
    const environment = await alsa(folder, 'tapdeck.television "x"\n');
    const config = join(folder, "asound.conf");
    const out = join(folder, "frames");
    const text = await readFile(config, "utf8");
    const card = /type hw\s+card \{ @func refer name tapdeck\.television \}\s+device 0/;
    expect(text).toMatch(card);
    // A file replaces the card, and receives the frames unchanged.
    await writeFile(config, text.replace(card, `type file\nfile "${out}"\nformat raw\nslave.pcm null`));
    const samples = new Int16Array(2 * 4800).map((_, at) => Math.round(12000 * Math.sin(at / 20)));
    await writeFile(join(folder, "tone"), samples);
    const words = ["-q", "-D", "television", "-t", "raw", "-f", "S16_LE", "-c", "2", "-r", "48000"];
    await run(["aplay", ...words, join(folder, "tone")], { environment });
    const bytes = await readFile(out);
    const frames = new Uint32Array(bytes.buffer, bytes.byteOffset, samples.length);
    expect([...frames].map(sampleOf)).toEqual([...samples]);
    // Preambles: the first frame of a block of 192 is marked, and so are left and right (bits 0 to 3).
    const preambles = [...frames].map((frame) => frame & 0xf);
    expect(new Set(preambles.filter((_, at) => at % 2 === 1)).size).toBe(1);
    expect(preambles[0]).toBe(preambles[2 * 192]);
    expect(preambles[0]).not.toBe(preambles[2]);
  }));

test.skipIf(process.getuid?.() !== 0)(
  "a card that was plugged in while another call chose was forgotten by that call",
  () =>
    inFolder(async (folder) => {
      // Loading a module takes this long. Meanwhile mdev calls the script for the new card.
      const modprobe = `[ ! -e /run/plugged ] || exit 0
: >/run/plugged
mkdir /proc/asound/card1
echo Device >/proc/asound/card1/id
echo 0d8c:0014 >/proc/asound/card1/usbid
echo "01-00: Name : Name : playback 1" >>/proc/asound/pcm
(/usr/lib/tapdeck/sound; : >/run/done) 9>&- &
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -e /run/done ] || usleep 200000; done`;
      await makeScriptRoot(folder, ["flock"], { "bin/modprobe": modprobe });
      await putCards(folder, [hdmi]);
      await run(["chroot", folder, "/usr/lib/tapdeck/sound"], {
        environment: { PATH: "/bin:/usr/bin:/usr/sbin" },
      });
      await eventually(async () => expect(await readFile(join(folder, "run/done"), "utf8")).toBe(""));
      expect(await readFile(join(folder, "run/sound/card.conf"), "utf8")).toContain('tapdeck.card "Device"');
    }),
);
