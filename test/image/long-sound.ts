/** A sound of half an hour on the card of an emulated board, which mpv plays, and the position of it that the database keeps. */
import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../src/client/client.ts";
import { makeSound } from "../helpers/sound-file.ts";
import type { Board } from "./board.ts";
import { until } from "./until.ts";

/** The position at a moment of the host. */
export interface Seen {
  readonly positionMs: number;
  readonly atMs: number;
}

/** Words for QEMU: a television's loudspeaker, without a display. */
export const loudspeaker = [
  ...["-device", "qemu-xhci", "-audiodev", "none,id=sound", "-device", "usb-audio,audiodev=sound"],
];

const media = "/data/tapdeck/media/Audio";
const soundSeconds = 30 * 60;
const soundHeaderBytes = 44;

/** Copies the sound to the card, and connects a file as the reader. The rest of the sound is zeros, which take up no space. */
export async function putSound(board: Board): Promise<void> {
  const header = Buffer.from(makeSound(soundSeconds).subarray(0, soundHeaderBytes)).toString("base64");
  const path = `${media}/Book.wav`;
  const bytes = makeSound(soundSeconds).length;
  await board.shell(
    `mkdir -p ${media} && echo ${header} | base64 -d >${path} && truncate -s ${bytes} ${path}`,
  );
  await board.shell(
    `printf '[readers]\\nconnect = ["file:/tmp/card"]\\n' >>/data/config/tapdeck/config.toml && sync`,
  );
}

export const tapSound = (board: Board) => board.shell("echo Audio/Book.wav >/tmp/card");

/** The position that mpv reports; undefined before its first report. */
export async function positionOf(client: Client): Promise<Seen | undefined> {
  const { positionMs } = (await client.call("media.active")) ?? {};
  return positionMs === undefined ? undefined : { positionMs, atMs: performance.now() };
}

/** Rejects if the service finds a fault of the database or of the device. */
export async function expectHealthy(client: Client): Promise<void> {
  // On a busy machine the service may be replaced during a request.
  const { checks } = await until("its health", () => client.call("health").catch(() => undefined));
  expect(checks.filter(({ name, ok }) => (name === "database" || name === "device") && !ok)).toEqual([]);
}

/** Reads the database on the host, without the service; 0 if it has no position. */
export async function storedPosition(board: Board): Promise<number> {
  expect((await board.shell("ls /data/tapdeck | grep damaged || true")).trim()).toBe("");
  const said = await board.shell(
    "mkdir -p /run/copy; cd /data/tapdeck; " +
      // The copy is repeated until no write came during it.
      "until cp tapdeck.db tapdeck.db-wal /run/copy && cmp -s tapdeck.db /run/copy/tapdeck.db && cmp -s tapdeck.db-wal /run/copy/tapdeck.db-wal; " +
      "do sleep 0.1; done; gzip -c /run/copy/tapdeck.db | base64; echo -next-; gzip -c /run/copy/tapdeck.db-wal | base64",
  );
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-position-"));
  try {
    const path = join(folder, "tapdeck.db");
    const [main = "", log = ""] = said
      .split("-next-")
      .map((text) => Bun.gunzipSync(Buffer.from(text, "base64")));
    await Bun.write(path, main);
    await Bun.write(`${path}-wal`, log);
    using database = new Database(path);
    expect(database.query("PRAGMA integrity_check").values()).toEqual([["ok"]]);
    const stored = database.query<{ positionMs: number }, []>(
      "SELECT position_ms AS positionMs FROM positions",
    );
    return stored.get()?.positionMs ?? 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
