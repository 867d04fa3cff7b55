/** The client of hawkBit on the compiled program, against a server that follows the documented API, and the root scripts of the image. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Action, type HawkbitStub, startHawkbitStub } from "../helpers/hawkbit-stub.ts";
import { eventually, eventuallyReaped } from "../helpers/processes.ts";
import { makeStandInImage, type StandInImage } from "../helpers/stand-in-image.ts";
import { makePlace, noReaders, type Place, type Running, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

const token = "5a5a5a5a5a5a5a5a";
const content = Buffer.alloc(400_000, "a bundle, as the root script reads it; ");

interface Scene extends AsyncDisposable {
  readonly server: HawkbitStub;
  readonly image: StandInImage;
  readonly place: Place;
  /** The service that runs now. */
  service(): Running;
  /**
   * `stop` ends the service in order, `kill` by SIGKILL. With `machine`, the machine restarts after that, and the service
   * starts again.
   */
  restart(how: "stop" | "kill", machine?: "with the machine"): Promise<void>;
}

async function scene(more = ""): Promise<Scene> {
  await using made = new AsyncDisposableStack();
  const image = made.use(await makeStandInImage());
  const server = made.use(await startHawkbitStub({ id: "hall-1", token }));
  const place = made.use(await makePlace());
  await writeFile(join(place.folder, "hawkbit-token"), `${token}\n`, { mode: 0o600 });
  await place.config(
    `${noReaders}[fleet]\nhawkbit_url = "${server.url}"\nid = "hall-1"\ntoken_file = "hawkbit-token"\n${more}${sleeper()}`,
  );
  let service = await startTapdeck(place, image.command);
  made.defer(() => service[Symbol.asyncDispose]());
  const whole = made.move();
  return {
    server,
    image,
    place,
    service: () => service,
    async restart(how, machine) {
      if (how === "kill") {
        process.kill(service.pid, "SIGKILL");
        await eventuallyReaped(service.pid);
      }
      await service[Symbol.asyncDispose]();
      if (machine !== undefined) await image.powerCycle();
      service = await startTapdeck(place, image.command);
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

/** Resolves when the service has asked the server twice more, and so has seen all earlier changes. */
async function polledTwice({ server }: Scene): Promise<void> {
  const before = server.polls();
  await eventually(() => server.polls() >= before + 2);
}

/** Lets the root script install, and restarts the machine into the trial of the new system. */
async function tryIt(here: Scene, how: "stop" | "kill" = "stop"): Promise<void> {
  await eventually(() => here.image.updates() === 1);
  await here.image.progress('{"step":"writing","percent":100}\n{"restarting":"0.9.0"}\n');
  await here.image.note("trying", "0.9.0");
  await here.restart(how, "with the machine");
}

const last = ({ said }: Action) => said.at(-1);
const kept = "closed success: 0.9.0 was healthy for a minute, and is kept";
const back =
  "closed failure: 0.9.0 was tried and not kept: it did not start, or was not healthy for a minute";

test("an update is closed with success after its trial, and not before", async () => {
  await using here = await scene();
  const { server, image, place } = here;
  await eventually(() => server.attributes() !== undefined);
  expect(server.attributes()).toMatchObject({ board: "", slot: "", version: expect.any(String) });
  const action = server.assign({ content });
  await eventually(() => image.updates() === 1);
  expect(await readFile(join(place.folder, "update.bundle"))).toEqual(content);
  const { updates } = await here.service().client.call("device");
  expect(updates).toMatchObject({ server: `${server.url}/DEFAULT`, latest: { version: "0.9.0" } });
  await tryIt(here);
  await polledTwice(here);
  expect(action.state).toBe("open");
  await image.note("kept", "0.9.0");
  await eventually(() => action.state === "success");
  expect(action.said).toEqual([
    "proceeding none: 0.9.0: the update is fetched",
    "proceeding none: 0.9.0: the update is installed; then its trial begins",
    kept,
  ]);
  await polledTwice(here);
  expect([image.updates(), server.refused]).toEqual([1, []]);
  expect((await here.service().client.call("health")).updates?.latest).toBeUndefined();
});

test("an update that is not kept is closed with failure, and may be sent once more", async () => {
  await using here = await scene();
  const first = here.server.assign({ content });
  await tryIt(here);
  await here.image.note("back", "0.9.0");
  await here.restart("stop", "with the machine");
  await eventually(() => first.state === "failure");
  expect(last(first)).toBe(back);
  const second = here.server.assign({ content });
  await eventually(() => here.image.updates() === 2);
  // The note is the same as before, but its time differs.
  await here.image.note("back", "0.9.0");
  await here.restart("stop", "with the machine");
  await eventually(() => second.state === "failure");
});

test("a bundle that the root script refuses is closed with its reason", async () => {
  await using here = await scene();
  const action = here.server.assign({ content });
  await eventually(() => here.image.updates() === 1);
  await here.image.progress('{"failed":"the file was signed by an unknown key"}\n{"exit":1}\n');
  await eventually(() => action.state === "failure");
  expect(last(action)).toBe("closed failure: the file was signed by an unknown key");
  await polledTwice(here);
  expect(here.image.updates()).toBe(1);
});

test("a file with another hash is not installed", async () => {
  await using here = await scene();
  const action = here.server.assign({ content, sha256: "0".repeat(64) });
  await eventually(() => action.state === "failure");
  expect(last(action)).toContain("it has another SHA-256 than was announced");
  expect(here.image.updates()).toBe(0);
  expect(existsSync(join(here.place.folder, "update.bundle"))).toBe(false);
});

test("an optional update waits for a quiet moment, and its cancellation removes it", async () => {
  await using here = await scene();
  const action = here.server.assign({ content, update: "attempt" });
  await eventually(() => last(action)?.includes("waits until nothing plays") === true);
  const { updating } = await here.service().client.call("device");
  expect(updating).toEqual({ step: "waiting" });
  here.server.cancel(action);
  await eventually(() => action.state === "canceled");
  expect(action.saidOfCancel).toEqual(["closed success: nothing was changed"]);
  expect(existsSync(join(here.place.folder, "update.bundle"))).toBe(false);
  const next = here.server.assign({ content });
  await eventually(() => here.image.updates() === 1);
  expect(next.said).toContain("proceeding none: 0.9.0: the update is fetched");
});

test("an owner installs an optional update at once, and one that may only be fetched not at all", async () => {
  await using here = await scene();
  const { client } = here.service();
  await polledTwice(here);
  await expect(client.call("device.update", {})).rejects.toThrow(
    "the server of updates offers no other version now",
  );
  const fetched = here.server.assign({ content, update: "skip" });
  await eventually(() => last(fetched)?.includes("is fetched") === true);
  await expect(client.call("device.update", {})).rejects.toThrow(
    "hawkBit lets this device only fetch the update",
  );
  here.server.cancel(fetched);
  await eventually(() => fetched.state === "canceled");
  const action = here.server.assign({ content, update: "attempt" });
  await eventually(() => last(action)?.includes("waits until nothing plays") === true);
  await polledTwice(here);
  expect(here.image.updates()).toBe(0);
  await client.call("device.update", {});
  await eventually(() => here.image.updates() === 1);
  expect(last(action)).toContain("the update is installed");
});

test("a cancellation during the trial is rejected, and the outcome is reported", async () => {
  await using here = await scene();
  const action = here.server.assign({ content });
  await tryIt(here);
  here.server.cancel(action);
  await eventually(() => action.saidOfCancel.length === 1);
  expect(action.saidOfCancel).toEqual(["rejected none: the update is being installed, or in its trial"]);
  await here.image.note("kept", "0.9.0");
  await eventually(() => action.state === "success");
});

test("a forced update waits until nothing plays, and ends what plays only if the owner allows it", async () => {
  for (const [more, interrupts] of [
    ["", false],
    ["interrupt = true\n", true],
  ] as const) {
    await using here = await scene(more);
    const { client, heard } = here.service();
    await here.place.file("SNES/Game.sfc");
    await client.call("launch", { text: "SNES/Game.sfc" });
    await heard.next("media.started");
    const action = here.server.assign({ content });
    if (!interrupts) {
      await eventually(() => last(action)?.includes("waits until nothing plays") === true);
      await polledTwice(here);
      expect(here.image.updates()).toBe(0);
      await client.call("stop");
    }
    await eventually(() => here.image.updates() === 1);
  }
});

test("an update that shall only be fetched is fetched, and installed when the server says so", async () => {
  await using here = await scene();
  const action = here.server.assign({ content, update: "skip" });
  await eventually(() => last(action) === "downloaded none: 0.9.0 is fetched");
  await polledTwice(here);
  expect([here.image.updates(), action.downloads.length]).toEqual([0, 1]);
});

test("a wrong token changes nothing on the deck, and a right one counts without a restart", async () => {
  await using here = await scene();
  const path = join(here.place.folder, "hawkbit-token");
  await writeFile(path, "another\n");
  await here.restart("stop");
  const before = here.server.polls();
  const { client } = here.service();
  await eventually(async () => {
    const { updates } = await client.call("health");
    expect(updates?.fault).toContain("the server answered 401");
  });
  expect((await client.call("health")).checks.filter(({ ok }) => !ok)).toEqual([]);
  expect(here.server.refused.at(-1)).toBe("401 GET /DEFAULT/controller/v1/hall-1");
  // The mode comes first, because the deck may read the right token at once.
  await chmod(path, 0o644);
  await writeFile(path, `${token}\n`);
  await eventually(() => here.server.polls() > before);
  // The deck checks the mode at its next request, and the log line arrives over another pipe than the request.
  await eventually(() => expect(here.service().log()).toContain("other users can read this secret"));
});

test("without the server a deck works, and the outcome is reported when the server is there again", async () => {
  await using here = await scene();
  const action = here.server.assign({ content });
  await eventually(() => here.image.updates() === 1);
  await here.server.down();
  await tryIt(here);
  await here.image.note("kept", "0.9.0");
  const { client, heard } = here.service();
  await here.place.file("SNES/Game.sfc");
  await client.call("launch", { text: "SNES/Game.sfc" });
  await heard.next("media.started");
  await here.restart("kill");
  await here.server.up();
  await eventually(() => action.state === "success");
  expect(action.said.filter((text) => text.startsWith("closed"))).toEqual([kept]);
});

test("a service that is killed during a download continues it", async () => {
  await using here = await scene();
  here.server.hangAfter(150_000);
  const action = here.server.assign({ content });
  const part = join(here.place.folder, "update.bundle.part");
  await eventually(() => existsSync(part) && Bun.file(part).size === 150_000);
  here.server.hangAfter(Number.POSITIVE_INFINITY);
  await here.restart("kill");
  await eventually(() => here.image.updates() === 1);
  expect(action.downloads).toEqual(["", "bytes=150000-"]);
  expect(await readFile(join(here.place.folder, "update.bundle"))).toEqual(content);
});

test("a service that is killed while an update waits does not fetch it again", async () => {
  await using here = await scene();
  const action = here.server.assign({ content, update: "attempt" });
  await eventually(() => last(action)?.includes("waits until nothing plays") === true);
  await here.restart("kill");
  await eventually(() => action.said.filter((text) => text.includes("waits")).length === 2);
  expect(action.downloads).toEqual([""]);
});

test("a service that is killed during an installation or a trial installs nothing twice, and reports the end", async () => {
  await using here = await scene();
  const { image, server } = here;
  const action = server.assign({ content });
  await eventually(() => image.updates() === 1);
  await image.progress('{"step":"writing","percent":10}\n');
  await here.restart("kill");
  const { client } = here.service();
  await eventually(async () => {
    expect((await client.call("device")).updating).toEqual({ step: "writing", percent: 10 });
  });
  await expect(client.call("device.update", { url: "http://127.0.0.1:9/" })).rejects.toThrow(
    "being installed",
  );
  await polledTwice(here);
  await tryIt(here, "kill");
  await polledTwice(here);
  await here.restart("kill");
  expect(action.state).toBe("open");
  await image.note("kept", "0.9.0");
  await eventually(() => action.state === "success");
  expect([image.updates(), last(action)]).toEqual([1, kept]);
});

test("a power cut during an installation leads to another try, and the third one is the last", async () => {
  await using here = await scene();
  const action = here.server.assign({ content });
  for (const tries of [1, 2, 3]) {
    await eventually(() => here.image.updates() === tries);
    await here.image.progress('{"step":"writing","percent":10}\n');
    await here.restart("kill", "with the machine");
  }
  await eventually(() => action.state === "failure");
  expect(last(action)).toBe("closed failure: it was interrupted 3 times before its trial");
  expect(here.image.updates()).toBe(3);
});
