/** The sounds of a tap, and a card that makes another card: the compiled binary, a player of ours, an emulated reader. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { emulatedPn532, ntag213, textOn, unlessHeldUp } from "../helpers/emulated.ts";
import { eventually } from "../helpers/processes.ts";
import {
  firstReader,
  makePlace,
  noReaders,
  type Place,
  program,
  type Running,
  readerConfig,
  startTapdeck,
} from "../helpers/tapdeck.ts";

/** The service, with an `aplay` that notes its arguments as the only player that it finds. */
async function startHeard(place: Place): Promise<Running & { sounds: () => Promise<readonly string[]> }> {
  // Players reach this folder in the data folder because its name begins with a dot.
  const bin = join(place.folder, ".bin");
  const notes = join(bin, "notes");
  await mkdir(bin);
  await writeFile(
    join(bin, "aplay"),
    `#!/bin/sh\n[ "$1" = --quiet ] && /usr/bin/head -c 4 "$2" | /bin/grep -q RIFF && echo "$(/usr/bin/basename "$2")" >> "${notes}"\n`,
  );
  await chmod(join(bin, "aplay"), 0o755);
  const service = await startTapdeck(place, ["/usr/bin/env", `PATH=${bin}`, program]);
  const sounds = async () => (existsSync(notes) ? (await readFile(notes, "utf8")).trimEnd().split("\n") : []);
  return { ...service, sounds };
}

test("ready, scanned and failed are heard, and switching audioFeedback counts at once", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startHeard(place);
  const { client, sounds } = service;
  await eventually(async () => expect(await sounds()).toHaveLength(1));
  await client.call("tokens.scan", { text: "**echo:hello" });
  await eventually(async () => expect(await sounds()).toHaveLength(2));
  await client.call("settings.update", { audioFeedback: false });
  await client.call("launch", "no such file");
  await service.heard.next("launch.finished", ({ success }) => !success);
  await client.call("settings.update", { audioFeedback: true });
  await client.call("launch", "no such file");
  await eventually(async () => expect(await sounds()).toHaveLength(3));
  // Sounds are heard in the order of their requests, so a second sound of the first tap would have been heard by now.
  await client.call("tokens.scan", { text: "**echo:bye" });
  await eventually(async () =>
    expect((await sounds()).filter((name) => name === "scanned.wav")).toHaveLength(2),
  );
  expect(await sounds()).toEqual(["ready.wav", "scanned.wav", "failed.wav", "scanned.wav"]);
  expect(await service.stop()).toBe(0);
  expect(await readdir(place.folder)).not.toContain("tapdeck-sounds");
});

test("a card that the guard holds back asks for itself, and play time that ends is heard", async () => {
  await using place = await makePlace(
    `${noReaders}[launch]\nguard = true\n[playtime]\ndaily_minutes = 1\n[[launchers]]\nid = "sleeper"\ncommand = ["/bin/sh", "-c", "exec /bin/sleep 600", "{path}"]\n`,
  );
  for (const name of ["A", "B"]) await place.file(`SNES/${name}.sfc`);
  await using service = await startHeard(place);
  const { client, heard, sounds } = service;
  await client.call("tokens.scan", { text: "SNES/A.sfc", duration: 20 });
  await heard.next("media.started");
  // Less than a minute is left.
  await heard.next("playtime.warning");
  await eventually(async () => expect(await sounds()).toContain("warning.wav"));
  await client.call("tokens.scan", { text: "SNES/B.sfc", duration: 20 });
  await heard.next("launch.finished", ({ text, success }) => text === "SNES/B.sfc" && !success);
  await eventually(async () => expect(await sounds()).toContain("guarded.wav"));
  await client.call("launch", "no such file");
  await eventually(async () => expect(await sounds()).toContain("failed.wav"));
  const scans = async () => (await sounds()).filter((name) => name === "scanned.wav").length;
  const scanned = await scans();
  await client.call("tokens.scan", { text: "**echo:bye" });
  await eventually(async () => expect(await scans()).toBeGreaterThan(scanned));
  expect((await sounds()).filter((name) => name === "failed.wav")).toHaveLength(1);
  expect((await sounds()).filter((name) => name === "warning.wav")).toHaveLength(1);
});

test("a service that is killed leaves no shell that waits for a sound", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startHeard(place);
  await eventually(async () => expect(await service.sounds()).toHaveLength(1));
  const shells = async () => {
    const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const lines = await Promise.all(
      all.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
    );
    return lines.filter((line) => line.includes(join(place.folder, ".bin/aplay"))).length;
  };
  await eventually(async () => expect(await shells()).toBe(1));
  process.kill(service.pid, "SIGKILL");
  await eventually(async () => expect(await shells()).toBe(0));
});

test("a card makes another card, stays as it is, and what it made is heard and plays when it is laid on again", () =>
  unlessHeldUp(async () => {
    await using device = emulatedPn532("real");
    await using place = await makePlace(readerConfig(device));
    await using service = await startHeard(place);
    await firstReader(service);
    const script = '**write:"**echo:made||**delay:1"';
    const maker = ntag213("04a1a2a3a4a5a6", script);
    const blank = ntag213("04b1b2b3b4b5b6");
    device.put(maker);
    await service.heard.next("running");
    device.take();
    device.put(blank);
    expect(await service.heard.next("launch.finished")).toMatchObject({ text: script, success: true });
    expect([textOn(maker), textOn(blank)]).toEqual([script, "**echo:made||**delay:1"]);
    await eventually(async () => expect(await service.sounds()).toContain("written.wav"));
    await service.heard.next("tokens.removed");
    device.take();
    // The report of another card shows that the removal of the first one was noticed.
    device.put(maker);
    await service.heard.next("running");
    await service.client.call("stop");
    expect(await service.heard.next("launch.finished")).toMatchObject({ error: "it was stopped" });
    device.take();
    device.put(blank);
    expect(await service.heard.next("running")).toMatchObject({ text: "**echo:made||**delay:1" });
  }));

test("a link may not write a card, nor type", async () => {
  await using place = await makePlace(`allow_launch = true\n${noReaders}`);
  await using _service = await startTapdeck(place);
  for (const script of ["**write:x", "**input.keyboard:a", "**input.gamepad:A"]) {
    const answer = await fetch(`http://127.0.0.1:${place.port}/l/${encodeURIComponent(script)}`);
    expect([script, answer.status]).toEqual([script, 403]);
  }
});
