/** Server-Sent Events: a listener that reconnects misses nothing, and cannot count events that it may not receive. */
import { expect, test } from "bun:test";
import { createEventStreams } from "../../../src/api/event-stream.ts";
import { eventsKeptMax } from "../../../src/core/limits.ts";
import { allows, type Right } from "../../../src/core/rights.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

interface Heard {
  readonly ids: readonly string[];
  readonly data: readonly string[];
}

function makeStreams() {
  const streams = createEventStreams(createManualClock());
  /** Returns all bytes that a listener with this right receives from its connection until `more` has run. */
  const visit = async (right: Right, lastEventId: string | null = null, more = () => {}): Promise<Heard> => {
    const response = streams.open(lastEventId, {
      mayHear: (required) => allows(right, required),
      isAdmitted: () => true,
      backlog: undefined,
      onSend: () => {},
      onOpen: () => {},
      onEnd: () => {},
    });
    more();
    streams.close();
    const lines = (await response.text()).split("\n");
    const behind = (key: string) =>
      lines.filter((line) => line.startsWith(key)).map((line) => line.slice(key.length));
    return { ids: behind("id: "), data: behind("data: ") };
  };
  return { streams, visit };
}

test("ids reveal nothing of the events that a stranger may not hear", async () => {
  const { streams, visit } = makeStreams();
  const ids: string[] = [];
  for (const hidden of [0, 0, 5, 300]) {
    for (let count = 0; count < hidden; count++) streams.notify('"hidden"', "change");
    const heard = await visit("look", null, () => streams.notify('"public"', "look"));
    expect(heard.data).toEqual(['"public"']);
    ids.push(...heard.ids);
  }
  // Each id differs, even if no event came in between, and none shows a number.
  expect(new Set(ids).size).toBe(8);
  const [runs, numbers] = [ids.map((id) => id.split("-")[0]), ids.map((id) => id.split("-")[1] ?? "")];
  expect(new Set(runs).size).toBe(1);
  for (const number of numbers) expect(number).toMatch(/^[0-9a-f]{32}$/);
  const leading = new Set(numbers.map((number) => number.slice(0, 12)));
  const trailing = new Set(numbers.map((number) => number.slice(-12)));
  expect([leading.size, trailing.size]).toEqual([8, 8]);
});

test("a listener that comes back gets what it missed and may hear, and nothing twice", async () => {
  const { streams, visit } = makeStreams();
  const first = await visit("look", null, () => streams.notify("1", "look"));
  streams.notify("2", "change");
  streams.notify("3", "look");
  for (const id of first.ids.slice(1)) {
    expect((await visit("look", id)).data).toEqual(["3"]);
    expect((await visit("change", id)).data).toEqual(["2", "3"]);
  }
  expect((await visit("look", first.ids[0])).data).toEqual(["1", "3"]);
  const last = (await visit("look")).ids[0];
  expect((await visit("change", last)).data).toEqual([]);
});

test("events that a listener may not hear take no room from those that it may", async () => {
  const { streams, visit } = makeStreams();
  const [before] = (await visit("look")).ids;
  streams.notify('"public"', "look");
  for (let count = 0; count < 2 * eventsKeptMax; count++) streams.notify(`"hidden ${count}"`, "change");
  expect((await visit("look", before)).data).toEqual(['"public"']);
  const all = (await visit("change", before)).data;
  expect([all.length, all[0], all.at(-1)]).toEqual([
    1 + eventsKeptMax,
    '"public"',
    `"hidden ${2 * eventsKeptMax - 1}"`,
  ]);
});

test("an id of another run gets all that is kept, and one that nobody was given nothing", async () => {
  const { streams, visit } = makeStreams();
  streams.notify("1", "look");
  const [id = ""] = (await visit("look")).ids;
  expect((await visit("look", `other-${id.split("-")[1]}`)).data).toEqual(["1"]);
  const start = id.split("-")[0];
  for (const made of ["0", "1", "", "0".repeat(32), "f".repeat(32), "x".repeat(32)])
    expect([made, (await visit("look", `${start}-${made}`)).data]).toEqual([made, []]);
});
