import { afterEach, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../../src/core/clock.ts";
import { silentLog } from "../../../../src/core/log.ts";
import { jobArgument } from "../../../../src/media/scan/indexer.ts";
import { createMediaWithSticks } from "../../../../src/media/sticks/stick-library.ts";
import { defaultConfig } from "../../../helpers/defaults.ts";
import { makeFiles } from "../../../helpers/library.ts";
import { indexProgram } from "../../../helpers/media.ts";
import { eventually } from "../../../helpers/processes.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A media folder and a stick, each with a game. `hold` makes each later run wait after its beginning, until `release`. */
async function newLibrary() {
  const top = await mkdtemp(join(tmpdir(), "tapdeck-sticks-"));
  const root = join(top, "media");
  const stick = join(top, "stick");
  const held = join(top, "held");
  makeFiles(root, ["SNES/Game.sfc"]);
  makeFiles(stick, ["SNES/Other.sfc"]);
  const script = 'while [ -e "$0" ]; do sleep 0.05; done; exec "$@"';
  const media = createMediaWithSticks({
    folder: join(top, "data"),
    folders: () => ({ roots: [root], own: [] }),
    prefer: () => defaultConfig.systems.prefer,
    emit() {},
    clock: systemClock,
    log: silentLog,
    command: ["sh", "-c", script, held, process.execPath, indexProgram, jobArgument],
  });
  const release = () => rm(held, { force: true });
  closing.push(async () => {
    await release();
    await media.close();
    await rm(top, { recursive: true });
  });
  return { media, stick, hold: () => Bun.write(held, ""), release };
}

test("a stick that is removed while all media are indexed fails no run of the others", async () => {
  const { media, stick, hold, release } = await newLibrary();
  media.plug([stick]);
  await eventually(() => expect(media.search({ query: "other", systems: [], maxResults: 9 }).total).toBe(1));
  await eventually(() => expect(media.status().indexing).toBe(false));
  await hold();
  const indexed = media.index([]);
  await eventually(() => expect(media.status().indexing).toBe(true));
  media.plug([]);
  await release();
  await indexed;
  expect(media.search({ query: "game", systems: [], maxResults: 9 }).total).toBe(1);
});
