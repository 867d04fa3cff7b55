/**
 * Sound on HDMI, on the emulated board: programs play on the loopback card and end, and the copying does not take the
 * processor from them. A second loopback card has the name of the television's card, and its frames go to a file. A third
 * loopback card has the name of the card of the jack, and the test records at its other end. Run by `make test-image`.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { type Board, cardBytes, image, isStandIn, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { patienceMs, until } from "./until.ts";

let card: Card;
let board: Board;

const frames = "/run/television/frames";

beforeAll(async () => {
  card = await makeCard(image, cardBytes);
  board = await startBoard({
    card,
    display: "320x240",
    // The board with a display also has a sound card on USB.
    append: "module_blacklist=snd_usb_audio snd_aloop.enable=1,1,1 snd_aloop.id=Loopback,vc4hdmi,Headphones",
  });
  await board.pong();
  const text = await readFile(join(root, "overlay/etc/asound.conf"), "utf8");
  const television = /type hw\s+card \{ @func refer name tapdeck\.television \}\s+device 0/;
  expect(text).toMatch(television);
  // This television never makes alsaloop wait, which is the worst case for other programs.
  const changed = text.replace(television, `type file\nfile "${frames}"\nformat raw\nslave.pcm null`);
  const bytes = Buffer.from(changed).toString("base64");
  await board.shell("mkdir /run/television && chown tapdeck /run/television");
  await board.shell(`echo ${bytes} | base64 -d >/run/asound.conf`);
  await board.shell("mount -o bind /run/asound.conf /etc/asound.conf");
  await board.shell("modprobe snd-aloop && ln -s /usr/bin/aplay /run/arecord");
  await until("the jack, because no television is connected", () => playsOn("jack"));
  await choose("television");
  await until("the television", () => playsOn("television"));
}, patienceMs);

afterAll(async () => {
  await board[Symbol.asyncDispose]();
  await card[Symbol.asyncDispose]();
}, patienceMs);

/** The process that copies to the television. */
const copying = () => until("alsaloop", () => board.shell("pidof alsaloop").catch(() => false));
const noise = (seconds: number) => `aplay -q -d ${seconds} -t raw -f S16_LE -c 2 -r 48000 /dev/urandom`;
/** Fails after a time in which each of these programs could play 20 times. */
const within = (command: string) => board.shell(`timeout 120 sh -c '${command}'`);

/** Noise takes up most of its bytes after gzip, and frames of silence take up nearly none. */
const heardBytes = async () => Number(await board.shell(`gzip -c ${frames} | wc -c`));
const secondBytes = 48_000 * 2 * 2;

test(
  "two programs at once and a player of films end on HDMI, and are heard",
  async () => {
    const pid = await copying();
    await within(`${noise(4)} & ${noise(1)} && wait $!`);
    await within(
      "mpv --no-config --no-video --really-quiet --ao=alsa --demuxer=rawaudio --demuxer-rawaudio-rate=48000 --length=2 /dev/urandom",
    );
    expect(await heardBytes()).toBeGreaterThan(secondBytes);
    // The scheduling policy is 0, the normal one. With real-time scheduling, alsaloop takes the processor from players.
    expect(await board.shell(`stat -c %U /proc/${pid}; cut -d " " -f 41 /proc/${pid}/stat`)).toMatch(
      /^tapdeck\s+0$/,
    );
  },
  patienceMs,
);

/**
 * The noise of one second from the jack, as bytes after gzip; silence takes up nearly none. `aplay` records under the
 * other name.
 */
const jackBytes = async () => {
  const record =
    "timeout 60 /run/arecord -q -D hw:Headphones,1 -d 1 -t raw -f S16_LE -c 2 -r 48000 /run/jack";
  return Number(await board.shell(`${record} && gzip -c /run/jack | wc -c`));
};
const choose = (place: string) =>
  board.shell(`tapdeck call settings.update '{"soundPlace":"${place}"}' </dev/null`);
const playsOn = async (place: string) => {
  const { sound } = JSON.parse(await board.shell("tapdeck call device </dev/null")) as {
    sound?: { plays?: string; there: readonly string[] };
  };
  expect(sound?.there).toEqual(["television", "jack"]);
  return sound?.plays === place;
};

test(
  "the owner moves the sound to the jack and back while a program plays, which goes on",
  async () => {
    await board.shell(`${noise(3600)} >/dev/null 2>&1 & echo $! >/run/noise.pid`);
    expect(await jackBytes()).toBeLessThan(secondBytes / 4);
    await choose("jack");
    await until("the jack", () => playsOn("jack"));
    await until("noise on the jack", async () => (await jackBytes()) > secondBytes / 2);
    await choose("television");
    await until("the television again", () => playsOn("television"));
    await until("silence on the jack", async () => (await jackBytes()) < secondBytes / 4);
    const before = await heardBytes();
    await until("noise on the television", async () => (await heardBytes()) > before);
    // The same program still plays.
    await board.shell("kill $(cat /run/noise.pid)");
  },
  2 * patienceMs,
);

test(
  "a television that is plugged in late, pulled out and plugged in again has the sound, if the owner chose no place",
  async () => {
    await choose("auto");
    await until("the jack", () => playsOn("jack"));
    // The display of QEMU has another name, and is always connected. Its kernel driver sends the events.
    const events = await board.shell("readlink -f /sys/class/drm/card0/uevent");
    await board.shell("mount -t tmpfs none /sys/class/drm && mkdir /sys/class/drm/card0-HDMI-A-1");
    const television = (status: string) =>
      board.shell(`echo ${status} >/sys/class/drm/card0-HDMI-A-1/status && echo change >${events}`);
    for (const time of ["first", "second"]) {
      await television("connected");
      await until(`the television, the ${time} time`, () => playsOn("television"));
      await television("disconnected");
      await until(`the jack, the ${time} time`, () => playsOn("jack"));
    }
    await board.shell("umount /sys/class/drm");
  },
  2 * patienceMs,
);

// Debian's alsa-lib has its assertions.
test.skipIf(isStandIn)("no assertion of alsa-lib can end a player after an underrun", async () => {
  expect(await board.shell("grep -c -F 'status->appl_ptr == ' /usr/lib/libasound.so.2 || true")).toBe("0");
});
