import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBus } from "../../../src/bus.ts";
import { configOf } from "../../../src/config/read-config.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { LaunchFinished } from "../../../src/events.ts";
import { createLauncher } from "../../../src/launch/launcher.ts";
import { openStore } from "../../../src/store/open.ts";
import { eventually } from "../../helpers/processes.ts";

test("new media folders and players are in use at the next launch", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-config-launch-"));
  const media = join(folder, "SNES", "a.sfc");
  await mkdir(join(folder, "SNES"));
  await writeFile(media, "");
  let config = configOf("", "config.toml", join(folder, "elsewhere"));
  const bus = createBus(silentLog);
  const ended: LaunchFinished[] = [];
  bus.on("launch.finished", (launch) => ended.push(launch));
  const { history, close } = openStore(folder);
  const launcher = createLauncher({
    ...{ config: () => config, bus, clock: systemClock, log: silentLog, history },
    map: () => undefined,
  });
  const launch = async () => {
    const before = ended.length;
    launcher.launch({ type: "", uid: "", text: "SNES/a.sfc", data: "" });
    await eventually(() => expect(ended.length).toBeGreaterThan(before));
    return ended.at(-1);
  };
  try {
    expect((await launch())?.error).toContain("there is no file");
    const player = '[[launchers]]\nid = "p"\ncommand = ["true", "{path}"]\n';
    config = configOf(`systems.root_folders = [${JSON.stringify(folder)}]\n${player}`, "config.toml", folder);
    expect(await launch()).toMatchObject({ success: true });
  } finally {
    await launcher.close();
    close();
    await rm(folder, { recursive: true });
  }
});
