/**
 * `make test-hawkbit`: a real hawkBit 0.9 updates three decks in groups, over TLS. The decks are compiled services; the root
 * scripts of the image are stand-ins, so that nothing is written and a trial takes seconds. The first rollout succeeds. In the
 * second one, the trial of the first deck fails: the deck reports that, and the rollout pauses. Then an update is only fetched,
 * and another one is cancelled.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { eventually, printed } from "../helpers/processes.ts";
import { makeStandInImage } from "../helpers/stand-in-image.ts";
import { makePlace, noReaders, startTapdeck } from "../helpers/tapdeck.ts";
import { hawkbitPort, listOf, startHawkbit } from "./server.ts";

const root = join(import.meta.dir, "../..");
const names = ["hall-1", "hall-2", "hall-3"];
const stepMsMax = 180_000;
const pollTime = "00:00:05";
/** Instead of the minute, but longer than two polls, so that an early success would be seen. */
const trialMs = 15_000;

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
const url = `https://localhost:${hawkbitPort}`;
await writeFile(
  join(folder, "fleet.csv"),
  `host_name,hawkbit_url\n${names.map((name) => `${name},${url}\n`).join("")}`,
);
await printed([process.execPath, join(root, "tools/provision.ts"), join(folder, "fleet.csv"), out]);
const server = made.use(await startHawkbit(jar, folder, hawkbitPort, out));
say("hawkBit answers over TLS");
await server.send("PUT", "system/configs/authentication.targettoken.enabled", { value: true });
await server.send("PUT", "system/configs/pollingTime", { value: pollTime });
await server.send("POST", "targets", JSON.parse(await readFile(join(out, "hawkbit-targets.json"), "utf8")));
const decks = new Map<string, Deck>();
for (const name of names) decks.set(name, made.use(await startDeck(name)));
const attributes = v.record(v.string(), v.string());
await eventually(async () => {
  for (const name of names)
    if ((await server.get(attributes, `targets/${name}/attributes`)).host_name === undefined) return false;
  return true;
}, stepMsMax);
say("three decks are known by their tokens, and have sent their attributes");

await rollout("0.9.1", async ({ groups, status, statusOf }) => {
  for (const group of await groups()) {
    const members = await group.members();
    await Promise.all(members.map((name) => takesUpdate(name, statusOf)));
    say(`group ${group.name} (${members.join(", ")}) has tried the update and kept it`);
  }
  await eventually(async () => (await status()) === "finished", stepMsMax);
  say("the rollout of 0.9.1 is finished");
});

await rollout("0.9.2", async ({ groups, status, statusOf }) => {
  const [first, ...rest] = await groups();
  const [name = ""] = (await first?.members()) ?? [];
  await deckOf(name).tries("0.9.2", "back");
  await eventually(async () => (await statusOf(name)) === "error", stepMsMax);
  say(`the trial of ${name} failed, and hawkBit knows it`);
  await eventually(async () => (await status()) === "paused", stepMsMax);
  const others = (await Promise.all(rest.map((group) => group.members()))).flat();
  if (others.length !== 2) throw new Error(`the second group has ${others.length} decks`);
  for (const other of others)
    if (deckOf(other).updates() !== 1) throw new Error(`${other} took the update, too`);
  say(`the rollout of 0.9.2 is paused, and ${others.join(" and ")} were not updated`);
});

const only = await server.publish(
  "tapdeck",
  "0.9.3",
  new Blob(["a bundle that is only fetched".repeat(50_000)]),
);
const actions = listOf(
  v.object({ id: v.number(), status: v.string(), detailStatus: v.optional(v.string()) }),
);
await assign("hall-2", only, "downloadonly");
await eventually(async () => (await newestAction("hall-2")).status === "finished", stepMsMax);
if (!(await deckOf("hall-2").bundle()).startsWith("a bundle that is only"))
  throw new Error("hall-2 has no bundle");
if (deckOf("hall-2").updates() !== 1) throw new Error("hall-2 has installed what it shall only fetch");
say("an update to be fetched only is fetched, and hawkBit has closed its action");
await assign("hall-3", only, "soft");
await eventually(async () => (await newestAction("hall-3")).detailStatus !== "scheduled", stepMsMax);
const { id: waiting } = await newestAction("hall-3");
await server.send("DELETE", `targets/hall-3/actions/${waiting}`);
await eventually(async () => (await newestAction("hall-3")).detailStatus === "canceled", stepMsMax);
if (deckOf("hall-3").updates() !== 1) throw new Error("hall-3 has installed what was cancelled");
say("an optional update that waits is cancelled");
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

/** One deck takes the update, and its action stays open until its trial has ended. */
async function takesUpdate(name: string, statusOf: Rollout["statusOf"]): Promise<void> {
  await deckOf(name).tries("0.9.1", "kept", async () => {
    const status = await statusOf(name);
    if (status !== "pending") throw new Error(`${name} is ${status} during its trial`);
  });
  await eventually(async () => (await statusOf(name)) === "in_sync", stepMsMax);
}

interface Group {
  readonly name: string;
  members(): Promise<readonly string[]>;
}

interface Rollout {
  status(): Promise<string>;
  groups(): Promise<readonly Group[]>;
  /** `pending`, `in_sync` or `error`. */
  statusOf(name: string): Promise<string>;
}

/** Starts the rollout of a version: the first group has one deck of three, the second one has the others. */
async function rollout(version: string, follow: (rollout: Rollout) => Promise<void>): Promise<void> {
  const set = await server.publish("tapdeck", version, new Blob([`a bundle of ${version}`.repeat(50_000)]));
  const conditions = {
    successCondition: { condition: "THRESHOLD", expression: "100" },
    successAction: { action: "NEXTGROUP" },
    errorCondition: { condition: "THRESHOLD", expression: "20" },
    errorAction: { action: "PAUSE" },
  };
  const { id } = v.parse(
    v.object({ id: v.number() }),
    await server.send("POST", "rollouts", {
      ...{ name: version, distributionSetId: set, type: "forced" },
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
  const stack = new AsyncDisposableStack();
  const image = stack.use(await makeStandInImage());
  const card = join(out, "cards", name);
  const place = stack.use(
    await makePlace(`${noReaders}[fleet]
hawkbit_url = "${url}"
id = "${name}"
token_file = "${join(card, "hawkbit.token")}"
ca_file = "${join(card, "ca.pem")}"
`),
  );
  let service = await startTapdeck(place, image.command);
  stack.defer(() => service[Symbol.asyncDispose]());
  let tried = 0;
  const restart = async () => {
    await service[Symbol.asyncDispose]();
    await image.powerCycle();
    service = await startTapdeck(place, image.command);
  };
  return {
    updates: image.updates,
    /** The text of the bundle that it has fetched. */
    bundle: () => readFile(join(place.folder, "update.bundle"), "utf8"),
    /** Waits for the installation, then tries the version with this outcome; `during` looks at the middle of the trial. */
    async tries(version: string, outcome: "kept" | "back", during = async () => {}): Promise<void> {
      tried += 1;
      await eventually(() => image.updates() === tried, stepMsMax);
      await image.note("trying", version);
      await restart();
      await Bun.sleep(trialMs);
      await during();
      await image.note(outcome, version);
      if (outcome === "back") await restart();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function say(text: string): void {
  process.stdout.write(`${((performance.now() - begunMs) / 1000).toFixed(0).padStart(4)} s  ${text}\n`);
}
