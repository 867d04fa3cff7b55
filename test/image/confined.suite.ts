/**
 * Players on the emulated board: a walk through all folders that are not read-only from inside a player, as a transcript, and the
 * pipe of the root script. Run by `make test-image`.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shellLauncher } from "../helpers/served-place.ts";
import { listenTo } from "../helpers/tapdeck.ts";
import { walked, walker } from "../helpers/walk.ts";
import { type Board, cardBytes, isStandIn, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { copyImage, copyToBoot, writeConf } from "./owned.ts";
import { patienceMs, until } from "./until.ts";

// The stand-in and Buildroot's system have different files in /etc, so each has a transcript of its own.
const transcript = join(import.meta.dir, "../transcripts/players", isStandIn ? "stand-in.txt" : "board.txt");
const secret = "5a".repeat(32);
let folder: string;
let card: Card;
let board: Board;

/** A player that tries each path to the pipe of the root script that it could know. */
const asker = `for file; do :; done
cd "$(dirname "$file")" && exec 2>/dev/null
for way in /run/tapdeck-machine/requests /proc/$PPID/fd/0 /proc/self/fd/3; do
  if ( echo shutdown >"$way" ); then echo "$way"; fi
done >found
for file in /run/tapdeck*/*_file /run/tapdeck*/staff_key; do
  if cat "$file" >/dev/null; then echo "read $file"; fi
  if ln -sf /etc/hosts "$file"; then echo "replaced $file"; fi
done >>found
mv found report`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-confined-"));
  const image = join(folder, "card.img");
  await copyImage(image);
  const files = join(folder, "boot");
  await mkdir(files);
  for (const name of ["ca.pem", "client.key"]) await writeFile(join(files, name), "x\n");
  await copyToBoot(image, files);
  await writeConf(image, `staff_key=${secret}\nca_file=ca.pem\nkey_file=client.key\nanonymous=play\n`);
  card = await makeCard(image, cardBytes);
  board = await startBoard({ card });
  await board.pong();
  await board.said("tapdeck: ready");
  // The first index makes its file a moment after the start.
  await until(
    "the index",
    async () => (await board.shell("ls /data/tapdeck")).includes("media.db") || undefined,
  );
}, patienceMs);

afterAll(async () => {
  await board[Symbol.asyncDispose]();
  await card[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}, patienceMs);

/** Writes a text of several lines into a file of the guest, whose shell takes one line. */
const put = (path: string, text: string) =>
  board.shell(
    `mkdir -p "$(dirname ${path})"; echo ${Buffer.from(text).toString("base64")} | base64 -d >${path}; chown -R tapdeck "$(dirname ${path})"`,
  );

/** The lines that the player of this launcher reports. */
async function reported(id: string): Promise<readonly string[]> {
  const place = `/data/tapdeck/media/${id}`;
  await put(`${place}/Game.${id}`, "x");
  const client = await board.client();
  try {
    const heard = listenTo(client);
    await client.call("launch", `${id}/Game.${id}`);
    await heard.next("media.stopped");
  } finally {
    client.close();
  }
  return (await board.shell(`cat ${place}/report`)).split(/\r?\n/).filter(Boolean);
}

test(
  "a player on the board reaches what the transcript lists, and no more",
  async () => {
    await put("/data/tapdeck/tls/other-key.pem", secret);
    const files = [".config/game/1", "saves/1", "states/1", "bios/1", "screenshots/1", "update.bundle"];
    // The service keeps a bundle whose download may be continued, and deletes another one some seconds after its start.
    for (const name of [...files, "update.bundle.source"]) await put(`/data/tapdeck/${name}`, "x");
    await put("/data/config/retroarch/retroarch.cfg", "");
    await put(
      "/data/config/tapdeck/config.toml",
      shellLauncher("walks", walker, "/data", "/run", "/etc", "/tmp") + shellLauncher("asks", asker),
    );
    await board.shell("tapdeck call settings.reload </dev/null");
    const lines = walked(await reported("walks"), (path) =>
      path
        .replace(/tapdeck-saves-\w+$/, "tapdeck-saves-*")
        .replace(/(tapdeck\.db|media\.db|update\.bundle).*$/, "$1*")
        .replace(/audit.*\.jsonl$/, "audit.jsonl")
        .replace(/(?<=^\/run\/.*)\d+\b/, "*"),
    );
    const text = `# The files that a player on the board reads and changes outside the read-only system; test/helpers/walk.ts explains the signs.\n${lines.map((line) => `= ${line}\n`).join("")}`;
    expect(text).toBe(await Bun.file(transcript).text());
  },
  patienceMs,
);

test(
  "a player on the board writes no word into the pipe, reads and replaces no file of the fleet, and the service is heard",
  async () => {
    expect(await board.shell("stat -c '%a %U' /run/tapdeck-machine/requests")).toBe("600 root");
    expect(await board.shell("ls /run/tapdeck*/staff_key /run/tapdeck*/key_file | wc -l")).toBe("2");
    expect(await reported("asks")).toEqual([]);
    expect(await board.shell("logread | grep -c 'service asks for' || true")).toBe("0");
    await board.shell("tapdeck call device.restart </dev/null");
    await board.said("reboot: Restarting system");
    await board.said("tapdeck: ready", 2);
  },
  patienceMs,
);
