/**
 * Adding media on the emulated board. USB sticks: one is plugged in at the start, and others are plugged in and pulled
 * out later. A game starts from one, and ends when the stick is pulled out. SFTP with the key of tapdeck.conf. Run by
 * `make test-image`.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../src/client/client.ts";
import { run } from "../../tools/image/run.ts";
import { freePort } from "../helpers/free-port.ts";
import { libraryPaths } from "../helpers/library.ts";
import { type Heard, listenTo } from "../helpers/tapdeck.ts";
import { type Board, cardBytes, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print, printTogether } from "./figures.ts";
import { copyImage, writeConf } from "./owned.ts";
import { brokenStick, emptyStick, fatStick, fill, partitionedStick } from "./stick-images.ts";
import { createStickPort, type StickPort } from "./stick-port.ts";
import { patienceMs, until } from "./until.ts";

let folder: string;
let key: string;
let card: Card;
let port: StickPort;
let board: Board;
let client: Client;
let heard: Heard;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-sticks-"));
  const first = await fill(join(folder, "first"), ["SNES/First Game.sfc"]);
  port = createStickPort(join(folder, "qmp.sock"), await fatStick(join(folder, "first.img"), "FIRST", first));
  key = join(folder, "key");
  await run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "a test", "-f", key]);
  const owned = join(folder, "owned.img");
  await copyImage(owned);
  await writeConf(owned, `ssh_key=${await readFile(`${key}.pub`, "utf8")}`);
  card = await makeCard(owned, cardBytes);
  board = await startBoard({ card, more: port.words });
  await board.pong();
  // This player keeps the file open, as players do.
  await board.shell(
    "mkdir -p /data/bin; printf '#!/bin/sh\\nexec 3<\"$1\"\\nexec sleep 600\\n' >/data/bin/player; chmod 755 /data/bin /data/bin/player",
  );
  await board.shell(
    'printf \'[[launchers]]\\nid = "stand-in"\\nsystems = ["SNES"]\\ncommand = ["/data/bin/player", "{path}"]\\n\' >/data/config/tapdeck/config.toml; chown tapdeck /data/config/tapdeck/config.toml',
  );
  client = await board.client();
  heard = listenTo(client);
}, 2 * patienceMs);

afterAll(async () => {
  client?.close();
  port.close();
  await board[Symbol.asyncDispose]();
  await card[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
  printTogether();
}, patienceMs);

/** The number of files that a search finds; none without the connection or the index. */
const totalOf = (query: string) =>
  client.call("media.search", { query }).then(
    ({ total }) => total,
    () => 0,
  );

const mounts = () => board.shell("grep ' /media/usb/' /proc/mounts | sort -k 2; true");

async function folders(): Promise<readonly string[]> {
  return (await board.shell("ls -1 /media/usb")).split("\n").filter((name) => name !== "");
}

async function launched(text: string): Promise<string> {
  heard.forget();
  await client.call("launch", text);
  const { error } = await heard.next("launch.finished");
  return error ?? "";
}

test(
  "a stick that is there at the start is mounted, read-only and without rights, and its games are found",
  async () => {
    await until("the first game", async () => (await totalOf("first game")) === 1);
    expect(await mounts()).toMatch(/^\/dev\/sda \/media\/usb\/FIRST vfat ro,nosuid,nodev,noexec,/);
    expect(await board.shell("touch /media/usb/FIRST/x 2>&1; true")).toContain("Read-only file system");
  },
  patienceMs,
);

test(
  "a stick that is plugged in while the board runs: its partitions are found under plain names, and a broken one is reported",
  async () => {
    const fat = await fill(join(folder, "fat"), ["SNES/Second Game.sfc", "Audio/Song.mp3"]);
    const ext4 = await fill(join(folder, "ext4"), ["SNES/Third Game.sfc"]);
    await port.plug("parts", await partitionedStick(join(folder, "parts.img"), fat, ext4));
    await until("both partitions", async () => (await totalOf("game")) === 3);
    expect(await folders()).toEqual(["FIRST", "MY_GAMES", "reboot"]);
    await until("the log", async () =>
      (await board.shell("logread")).includes("usb: sdb3 has no file system that can be read"),
    );
    await port.unplug("parts");
    await until("the end of both", async () => (await totalOf("game")) === 1);
    // Each partition is removed by an event of its own.
    await until("the end of their folders", async () => (await folders()).join() === "FIRST");
    expect(await launched("SNES/Third Game.sfc")).toContain(
      "on the USB stick reboot, which is not plugged in",
    );
  },
  2 * patienceMs,
);

test(
  "exFAT as a PC makes it is mounted; NTFS where the kernel has it, and a broken file system is a line of the log",
  async () => {
    await port.plug("exfat", await emptyStick(join(folder, "exfat.img"), "exfat"));
    await until("the exFAT stick", async () => (await mounts()).includes("/media/usb/Films exfat ro,"));
    // The stick is filled on the board, because no other program here writes exFAT.
    const device = await board.shell("awk '$2 == \"/media/usb/Films\" { print $1 }' /proc/mounts");
    await board.shell(
      `umount /media/usb/Films && mkdir -p /tmp/films && mount -t exfat ${device} /tmp/films && mkdir /tmp/films/SNES && echo x >/tmp/films/SNES/Exfat-Game.sfc && umount /tmp/films`,
    );
    await port.unplug("exfat");
    await until("its end", async () => !(await folders()).includes("Films"));
    await port.plug("exfat", join(folder, "exfat.img"));
    await until("its game", async () => (await totalOf("exfat-game")) === 1);
    await port.unplug("exfat");

    const hasNtfs = await board.shell("modprobe -q ntfs3; grep -c ntfs3 /proc/filesystems; true");
    await port.plug("ntfs", await emptyStick(join(folder, "ntfs.img"), "ntfs"));
    if (hasNtfs === "0") {
      print(
        "NTFS",
        "not in this kernel; the image's own kernel has it (buildroot/board/common/linux.fragment)",
      );
      await until("the log", async () =>
        /usb: sd[a-z] has no file system/.test(await board.shell("logread")),
      );
    } else await until("NTFS", async () => (await mounts()).includes("/media/usb/Windows ntfs3 ro,"));
    await port.unplug("ntfs");

    await port.plug("broken", await brokenStick(join(folder, "broken.img")));
    await until("what is seen of it", async () => {
      const told = (await board.shell("logread")).match(/usb: sd[a-z] has no file system/g) ?? [];
      return (
        told.length >= 2 || (hasNtfs !== "0" && told.length >= 1) || (await folders()).includes("BROKEN")
      );
    });
    await port.unplug("broken");
    await until("nothing but the first", async () => (await folders()).join() === "FIRST");
    expect(await totalOf("first game")).toBe(1);
  },
  3 * patienceMs,
);

test(
  "a game plays from a stick that is pulled out: its player ends, the reason is reported, and nothing stays mounted",
  async () => {
    const play = await fill(join(folder, "play"), ["SNES/Played Game.sfc"]);
    await port.plug("play", await fatStick(join(folder, "play.img"), "PLAY", play));
    await until("the game", async () => (await totalOf("played")) === 1);
    expect(await launched("SNES/Played Game.sfc")).toBe("");
    expect((await client.call("media")).active[0]).toMatchObject({
      mediaPath: "/media/usb/PLAY/SNES/Played Game.sfc",
    });
    const startedMs = performance.now();
    await port.unplug("play");
    expect(await heard.next("media.stopped")).toMatchObject({
      reason: "stopped",
      why: "the USB stick PLAY was removed",
    });
    print("from the stick's removal to the player's end", `${Math.round(performance.now() - startedMs)} ms`);
    await until("the mount's end", async () => !(await mounts()).includes("PLAY"));
    await until("the disk's end", async () => !(await board.shell("ls /sys/block")).includes("sdb"));
    expect(await board.shell("ps | grep '[s]leep 600' || echo none")).toBe("none");
    expect(await launched("SNES/Played Game.sfc")).toContain(
      "on the USB stick PLAY, which is not plugged in",
    );
    expect(await launched("SNES/First Game.sfc")).toBe("");
    await client.call("stop");
    await heard.next("media.stopped");
  },
  2 * patienceMs,
);

test(
  "ten thousand files are searchable a moment after their stick was plugged in, and sooner when it comes again",
  async () => {
    // There is one folder for each system, as on the sticks of people.
    const names = [...libraryPaths(10_000)].map((path) => `${path.split("/")[0]}/${path.split("/").at(-1)}`);
    const count = new Set(names.map((name) => name.toLowerCase())).size;
    await fatStick(join(folder, "big.img"), "BIG", await fill(join(folder, "big"), names));
    const before = await totalOf("e");
    for (const what of ["the first time", "again"]) {
      const from = heard.all.length;
      const startedMs = performance.now();
      await port.plug("big", join(folder, "big.img"));
      await until("the mount", async () => (await mounts()).includes("/media/usb/BIG"));
      const mountedMs = performance.now();
      // No search runs meanwhile, because each one would take time from the run.
      await until("the index", () =>
        heard.all
          .slice(from)
          .some(
            ({ method, params }) =>
              method === "media.indexing" && !params.indexing && (params.totalMedia ?? 0) > count / 2,
          ),
      );
      const [mounted, searched] = [mountedMs - startedMs, performance.now() - mountedMs].map(Math.round);
      expect(await totalOf("e")).toBeGreaterThan(count / 2);
      print(
        `a stick of ${count} files, ${what}`,
        `mounted after ${mounted} ms, searchable ${searched} ms later`,
      );
      await port.unplug("big");
      await until("their end", async () => (await totalOf("e")) === before);
    }
    // The following measurement takes a minute and decides nothing, so it runs with THOROUGH=1 only.
    if (process.env.THOROUGH !== "1") return;
    await port.plug("big", join(folder, "big.img"));
    await until("the mount", async () => (await mounts()).includes("/media/usb/BIG"));
    const walk = await board.shell("echo 3 >/proc/sys/vm/drop_caches; time find /media/usb/BIG | wc -l");
    print("beside it, find over the same stick", walk.replace(/\s+/g, " "));
    await port.unplug("big");
  },
  3 * patienceMs,
);

test(
  "the key of tapdeck.conf puts a game into the media folder by SFTP, a card launches it, and nothing else can be written",
  async () => {
    const ssh = freePort();
    await port.monitor(`hostfwd_add net tcp:127.0.0.1:${ssh}-:22`);
    await writeFile(join(folder, "Sent Game.sfc"), "game");
    const options = ["-i", key, "-o", `UserKnownHostsFile=${join(folder, "known")}`];
    const plain = [
      "-o",
      "StrictHostKeyChecking=accept-new",
      "-o",
      "BatchMode=yes",
      "-o",
      "IdentitiesOnly=yes",
    ];
    /** The output of the program for these lines of input, and its exit code. */
    const ask = async (program: "sftp" | "ssh", portOption: string, input: string, ...words: string[]) => {
      const child = Bun.spawn(
        [program, ...options, ...plain, portOption, `${ssh}`, ...words, "media@127.0.0.1"],
        { stdin: new Blob([input]), stdout: "pipe", stderr: "pipe" },
      );
      const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
      return { said, code: await child.exited };
    };
    const sftp = (...lines: string[]) => ask("sftp", "-P", `${lines.join("\n")}\n`, "-b", "-");
    const put = `put "${join(folder, "Sent Game.sfc")}"`;
    const sent = await until("the first connection", async () => {
      const answer = await sftp("-mkdir media/SNES", `${put} "media/SNES/Sent Game.sfc"`);
      return answer.said.includes("Connection refused") ? false : answer;
    });
    expect([sent.code, sent.said]).toEqual([0, expect.any(String)]);
    expect((await sftp(`${put} bios/disksys.rom`)).code).toBe(0);
    expect(
      await board.shell(
        "stat -c '%U %a' /data/tapdeck/bios/disksys.rom '/data/tapdeck/media/SNES/Sent Game.sfc'",
      ),
    ).toBe("media 644\nmedia 644");
    await until("the game in the index", async () => (await totalOf("sent game")) === 1);
    expect(await launched("SNES/Sent Game.sfc")).toBe("");
    await client.call("stop");
    await heard.next("media.stopped");
    for (const place of [
      "",
      "/data",
      "/data/tapdeck",
      "/data/config/tapdeck",
      "/etc",
      "/boot",
      "/run",
      "/media/usb",
    ])
      expect([place, (await sftp(`${put} "${place}/x"`)).code]).toEqual([place, 1]);
    for (const secret of [
      "/data/tapdeck/tapdeck.db",
      "/data/config/tapdeck/config.toml",
      "/run/conf/ssh_key",
    ])
      expect([secret, (await sftp(`get ${secret} ${join(folder, "got")}`)).code]).toEqual([secret, 1]);
    // SFTP answers every command instead of a shell, and reads the rest as its own frames.
    const shell = await ask("ssh", "-p", "id; touch /data/tapdeck/media/shell\n");
    expect(shell.said).not.toContain("uid=");
    expect(await board.shell("ls /data/tapdeck/media/shell 2>&1; true")).toContain("No such file");
  },
  2 * patienceMs,
);
