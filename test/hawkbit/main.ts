/**
 * `make test-hawkbit`: a real hawkBit 0.9 updates three emulated boards in groups, over TLS. Their cards have the files of
 * tools/provision.ts. The first rollout succeeds. The service of the second update does not start: the first board returns to
 * its earlier system and reports that, and the rollout pauses. Then an update is only fetched, and another one is cancelled.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { eventually, printed } from "../helpers/processes.ts";
import { cardBytes, startBoard } from "../image/board.ts";
import { serveUpdates, version as shipped } from "../image/bundles.ts";
import { makeCard } from "../image/card.ts";
import { copyImage, copyToBoot } from "../image/owned.ts";
import { hawkbitPort, listOf, startHawkbit } from "./server.ts";

const root = join(import.meta.dir, "../..");
const names = ["hall-1", "hall-2", "hall-3"];
/** The time for one step, because the boards share this machine's processors. */
const stepMsMax = 900_000;
const pollTime = "00:00:05";
const [good, dead, fetchedOnly] = ["0.1.1", "0.1.2", "0.1.3"] as const;

const jar = process.env.HAWKBIT_JAR ?? "";
if (jar === "" || !(await Bun.file(jar).exists())) {
  process.stderr.write(
    "make test-hawkbit: set HAWKBIT_JAR to the file hawkbit-update-server of hawkBit 0.9.0, built by `mvn package` with JDK 17\n",
  );
  process.exit(2);
}

const begunMs = performance.now();
await using made = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "tapdeck-hawkbit-"));
made.defer(() => rm(folder, { recursive: true }));
const out = join(folder, "out");
/** The address of this machine for an emulated board. */
const host = "10.0.2.2";
const url = `https://${host}:${hawkbitPort}`;
await writeFile(
  join(folder, "fleet.csv"),
  `host_name,hawkbit_url\n${names.map((name) => `${name},${url}\n`).join("")}`,
);
await printed([process.execPath, join(root, "tools/provision.ts"), join(folder, "fleet.csv"), out]);
const updates = made.use(await serveUpdates());
await updates.make("good", good);
await updates.make("dead", dead, { deadService: true });
say("the two updates are made");
const server = made.use(await startHawkbit(jar, folder, hawkbitPort, out, ["localhost", host]));
say("hawkBit answers over TLS");
await server.send("PUT", "system/configs/authentication.targettoken.enabled", { value: true });
await server.send("PUT", "system/configs/pollingTime", { value: pollTime });
await server.send("POST", "targets", JSON.parse(await readFile(join(out, "hawkbit-targets.json"), "utf8")));
const decks = new Map<string, Deck>();
for (const deck of await Promise.all(names.map(startDeck))) decks.set(deck.name, made.use(deck));
const attributes = v.record(v.string(), v.string());
await eventually(async () => {
  for (const name of names) {
    const { host_name, board, version } = await server.get(attributes, `targets/${name}/attributes`);
    if (host_name !== name || board !== "qemu" || version !== shipped) return false;
  }
  return true;
}, stepMsMax);
say("three boards are known by their tokens, and have sent their attributes");

await rollout(good, Bun.file(updates.file("good")), async ({ groups, status, statusOf }) => {
  for (const group of await groups()) {
    const members = await group.members();
    await Promise.all(members.map((name) => takesUpdate(name, statusOf)));
    say(`group ${group.name} (${members.join(", ")}) has tried the update and kept it`);
  }
  await eventually(async () => (await status()) === "finished", stepMsMax);
  say(`the rollout of ${good} is finished`);
});

await rollout(dead, Bun.file(updates.file("dead")), async ({ groups, status, statusOf }) => {
  const [first, ...rest] = await groups();
  const [name = ""] = (await first?.members()) ?? [];
  const deck = deckOf(name);
  await deck.said("Tapdeck: starting slot a");
  say(`${name} tries ${dead}`);
  await staysPending(name, statusOf, `fault: update-not-kept subject=${dead}`);
  await eventually(async () => (await statusOf(name)) === "error", stepMsMax);
  say(`${name} has its earlier system again, and hawkBit knows it`);
  await deck.runs(`slot a: ${dead}\nslot b: ${good}, runs, is kept`);
  await eventually(async () => (await status()) === "paused", stepMsMax);
  const others = (await Promise.all(rest.map((group) => group.members()))).flat();
  if (others.length !== 2) throw new Error(`the second group has ${others.length} boards`);
  for (const other of others) await deckOf(other).runs(`slot a: ${shipped}\nslot b: ${good}, runs, is kept`);
  say(`the rollout of ${dead} is paused, and ${others.join(" and ")} were not updated`);
});

const only = await server.publish(
  "tapdeck",
  fetchedOnly,
  new Blob(["a bundle that is only fetched".repeat(50_000)]),
);
const actions = listOf(
  v.object({ id: v.number(), status: v.string(), detailStatus: v.optional(v.string()) }),
);
await assign("hall-2", only, "downloadonly");
await eventually(async () => (await newestAction("hall-2")).status === "finished", stepMsMax);
const bundle = await deckOf("hall-2").shell("head -c 21 /data/tapdeck/update.bundle");
if (bundle !== "a bundle that is only") throw new Error(`hall-2 has fetched ${bundle}`);
say("an update to be fetched only is fetched, and hawkBit has closed its action");
await assign("hall-3", only, "soft");
await eventually(async () => (await newestAction("hall-3")).detailStatus !== "scheduled", stepMsMax);
const { id: waiting } = await newestAction("hall-3");
await server.send("DELETE", `targets/hall-3/actions/${waiting}`);
await eventually(async () => (await newestAction("hall-3")).detailStatus === "canceled", stepMsMax);
say("an optional update that waits is cancelled");
for (const name of ["hall-2", "hall-3"])
  await deckOf(name).runs(`slot a: ${shipped}\nslot b: ${good}, runs, is kept`);
say(`done in ${Math.round((performance.now() - begunMs) / 1000)} s`);

async function assign(name: string, set: number, type: "downloadonly" | "soft"): Promise<void> {
  await server.send("POST", `distributionsets/${set}/assignedTargets`, [{ id: name, type }]);
}

async function newestAction(name: string) {
  const { content } = await server.get(actions, `targets/${name}/actions`);
  const newest = content.toSorted((one, other) => other.id - one.id)[0];
  if (newest === undefined) throw new Error(`${name} has no action`);
  return newest;
}

/** One board takes the update, and its action stays open until its trial has ended. */
async function takesUpdate(name: string, statusOf: Rollout["statusOf"]): Promise<void> {
  const deck = deckOf(name);
  await deck.said("Tapdeck: starting slot b");
  say(`${name} tries ${good}`);
  await staysPending(name, statusOf, `${good} was healthy for a minute, and is kept`);
  await eventually(async () => (await statusOf(name)) === "in_sync", stepMsMax);
  await deck.runs(`slot a: ${shipped}\nslot b: ${good}, runs, is kept`);
}

/** Checks that hawkBit gets no outcome before the console has shown this end of the trial. */
async function staysPending(name: string, statusOf: Rollout["statusOf"], end: string): Promise<void> {
  const { console } = deckOf(name);
  let early = "";
  await eventually(async () => {
    const status = await statusOf(name);
    if (console().includes(end)) return true;
    if (status !== "pending") early = status;
    return early !== "";
  }, stepMsMax);
  if (early !== "") throw new Error(`${name} is ${early} during its trial`);
}

interface Group {
  readonly name: string;
  members(): Promise<readonly string[]>;
}

interface Rollout {
  status(): Promise<string>;
  groups(): Promise<readonly Group[]>;
  /** The state of the target: `pending`, `in_sync` or `error`. */
  statusOf(name: string): Promise<string>;
}

/** Starts the rollout of a version: the first group has one board of three, the second one has the others. */
async function rollout(
  version: string,
  bundle: Blob,
  follow: (rollout: Rollout) => Promise<void>,
): Promise<void> {
  const set = await server.publish("tapdeck", version, bundle);
  const conditions = {
    successCondition: { condition: "THRESHOLD", expression: "100" },
    successAction: { action: "NEXTGROUP" },
    errorCondition: { condition: "THRESHOLD", expression: "20" },
    errorAction: { action: "PAUSE" },
  };
  const { id } = v.parse(
    v.object({ id: v.number() }),
    await server.send("POST", "rollouts", {
      name: version,
      distributionSetId: set,
      type: "forced",
      targetFilterQuery: "controllerid==hall-*",
      groups: [
        { name: "first", targetPercentage: 34, ...conditions },
        { name: "rest", targetPercentage: 100, ...conditions },
      ],
    }),
  );
  const status = async () => (await server.get(v.object({ status: v.string() }), `rollouts/${id}`)).status;
  await eventually(async () => (await status()) === "ready", stepMsMax);
  await server.send("POST", `rollouts/${id}/start`);
  await eventually(async () => (await status()) === "running", stepMsMax);
  await follow({
    status,
    async groups() {
      const group = v.object({ id: v.number(), name: v.string() });
      const { content } = await server.get(listOf(group), `rollouts/${id}/deploygroups`);
      return content
        .toSorted((one, other) => one.id - other.id)
        .map(({ id: groupId, name }) => ({
          name,
          async members() {
            const target = v.object({ controllerId: v.string() });
            const path = `rollouts/${id}/deploygroups/${groupId}/targets`;
            const { content: found } = await server.get(listOf(target), path);
            if (found.length === 0) throw new Error(`the group ${name} has no targets`);
            return found.map(({ controllerId }) => controllerId);
          },
        }));
    },
    async statusOf(name) {
      return (await server.get(v.object({ updateStatus: v.string() }), `targets/${name}`)).updateStatus;
    },
  });
}

function deckOf(name: string): Deck {
  const deck = decks.get(name);
  if (deck === undefined) throw new Error(`there is no deck ${name}`);
  return deck;
}

type Deck = Awaited<ReturnType<typeof startDeck>>;

async function startDeck(name: string) {
  const image = join(folder, `${name}.img`);
  await copyImage(image);
  await copyToBoot(image, join(out, "cards", name));
  const stack = new AsyncDisposableStack();
  const card = stack.use(await makeCard(image, cardBytes));
  const board = stack.use(await startBoard({ card, loader: true }));
  await board.pong();
  const shell = async (command: string) => {
    board.restarted();
    return board.shell(command);
  };
  return {
    name,
    shell,
    console: board.console,
    /** Waits for this text on the console. */
    async said(text: string): Promise<void> {
      await eventually(() => board.console().includes(text), stepMsMax);
    },
    /** Throws an error unless these are the systems of its slots. */
    async runs(slots: string): Promise<void> {
      const status = await shell("tapdeck update --status </dev/null");
      if (!status.startsWith(slots)) throw new Error(`${name} has other systems: ${status}`);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function say(text: string): void {
  process.stdout.write(`${((performance.now() - begunMs) / 1000).toFixed(0).padStart(4)} s  ${text}\n`);
}
