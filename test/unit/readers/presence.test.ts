import { expect, test } from "bun:test";
import fc from "fast-check";
import { createBus } from "../../../src/bus.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { Requester } from "../../../src/core/rights.ts";
import type { Sighting } from "../../../src/core/token.ts";
import { removalDebounceMs } from "../../../src/readers/driver.ts";
import { createPresence, createTokens } from "../../../src/readers/presence.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

const card = (uid: string, text = ""): Sighting => ({ type: "NTAG", uid, text, data: "" });
const [a, b] = [card("04aa"), card("04bb")];

function watched() {
  const clock = createManualClock();
  const events: string[] = [];
  const presence = createPresence({
    clock,
    added: (sighting) => events.push(`+${sighting.uid}${sighting.text}`),
    removed: (sighting) => events.push(`-${sighting.uid}${sighting.text}`),
  });
  return { clock, events, presence };
}

test("a card that is seen again and again is one token", () => {
  const { events, presence } = watched();
  for (let round = 0; round < 10; round++) presence.see([a]);
  expect(events).toEqual(["+04aa"]);
});

test("a card that is lost for less than the debounce never left", () => {
  const { clock, events, presence } = watched();
  presence.see([a]);
  presence.see([]);
  clock.advance(removalDebounceMs - 1);
  presence.see([a]);
  clock.advance(10_000);
  expect(events).toEqual(["+04aa"]);
});

test("a phone that is lost for a moment made up another UID, and launched twice", () => {
  const { clock, events, presence } = watched();
  const phone = (uid: string, text: string) => ({ ...card(uid, text), type: "ISO14443-4" as const });
  presence.see([phone("08aaaaaa", "game")]);
  presence.see([]);
  clock.advance(removalDebounceMs - 1);
  presence.see([phone("08bbbbbb", "game")]);
  // A fault of the reader is no removal, whatever UID the phone has after it.
  presence.hold();
  presence.see([phone("08cccccc", "game")]);
  expect(events).toEqual(["+08aaaaaagame"]);
  // Another text is another card. Without a text the UID is all that distinguishes two cards.
  presence.see([phone("08dddddd", "film")]);
  presence.see([phone("08eeeeee", "")]);
  presence.see([phone("08ffffff", "")]);
  presence.see([]);
  clock.advance(removalDebounceMs);
  expect(events.slice(1)).toEqual([
    "-08aaaaaagame",
    "+08ddddddfilm",
    "-08ddddddfilm",
    "+08eeeeee",
    "-08eeeeee",
    "+08ffffff",
    "-08ffffff",
  ]);
  // A UID of seven bytes may begin with 08, and is not made up.
  presence.see([card("08aaaaaaaaaaaa", "game")]);
  presence.see([card("08bbbbbbbbbbbb", "game")]);
  expect(events.slice(-2)).toEqual(["-08aaaaaaaaaaaagame", "+08bbbbbbbbbbbbgame"]);
});

test("a card that stays away leaves once, and comes back as a new token", () => {
  const { clock, events, presence } = watched();
  presence.see([a]);
  presence.see([]);
  presence.see([]);
  clock.advance(removalDebounceMs);
  presence.see([]);
  clock.advance(10_000);
  presence.see([a]);
  expect(events).toEqual(["+04aa", "-04aa", "+04aa"]);
});

test("another card takes over at once", () => {
  const { events, presence } = watched();
  presence.see([a]);
  presence.see([b]);
  expect(events).toEqual(["+04aa", "-04aa", "+04bb"]);
});

test("a fault of the reader is no removal, however long it lasts", () => {
  const { clock, events, presence } = watched();
  presence.see([a]);
  presence.see([]);
  presence.hold();
  clock.advance(3_600_000);
  presence.see([a]);
  clock.advance(10_000);
  expect(events).toEqual(["+04aa"]);
});

test("a card that was taken off during a fault leaves when the reader is back", () => {
  const { clock, events, presence } = watched();
  presence.see([a]);
  presence.hold();
  presence.see([]);
  clock.advance(removalDebounceMs);
  expect(events).toEqual(["+04aa", "-04aa"]);
});

test("a card that was rewritten where it lies is a new token", () => {
  const { events, presence } = watched();
  presence.see([card("04aa", "one")]);
  presence.see([card("04aa", "two")]);
  expect(events).toEqual(["+04aaone", "-04aaone", "+04aatwo"]);
});

test("for any report of the reader, only a token that came can leave, and nothing comes twice", () => {
  const step = fc.oneof(
    fc.subarray([a, b]).map((cards) => ({ kind: "see" as const, cards })),
    fc.constant({ kind: "hold" as const }),
    fc.nat(2 * removalDebounceMs).map((ms) => ({ kind: "wait" as const, ms })),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { clock, events, presence } = watched();
      for (const one of steps) {
        if (one.kind === "see") presence.see(one.cards);
        else if (one.kind === "hold") presence.hold();
        else clock.advance(one.ms);
      }
      for (const uid of ["04aa", "04bb"]) {
        const own = events.filter((event) => event.endsWith(uid)).map((event) => event[0]);
        expect(own).toEqual(own.map((_, index) => (index % 2 === 0 ? "+" : "-")));
      }
    }),
  );
});

test("a card that is written is the same one, whatever it says then", () => {
  const { clock, events, presence } = watched();
  presence.see([a]);
  expect(presence.wasWritten(a.uid)).toBe(false);
  presence.writing(a.uid);
  expect(presence.wasWritten(a.uid)).toBe(true);
  expect(presence.wasWritten(b.uid)).toBe(false);
  presence.see([card(a.uid, "new text")]);
  expect(events).toEqual(["+04aa"]);
  presence.see([]);
  clock.advance(removalDebounceMs);
  // The card leaves as the same token that came, and the next card is a new tap.
  expect(events).toEqual(["+04aa", "-04aa"]);
  expect(presence.wasWritten(a.uid)).toBe(false);
  presence.see([card(a.uid, "new text")]);
  expect(events.at(-1)).toBe("+04aanew text");
});

test("a write that begins while its card is leaving keeps the card", () => {
  const { clock, events, presence } = watched();
  presence.see([a]);
  presence.see([]);
  clock.advance(removalDebounceMs - 1);
  presence.writing(a.uid);
  clock.advance(10_000);
  expect(events).toEqual(["+04aa"]);
  expect(presence.wasWritten(a.uid)).toBe(true);
  presence.see([]);
  clock.advance(removalDebounceMs);
  expect(events).toEqual(["+04aa", "-04aa"]);
});

test("a card that comes to be written is neither added nor removed, and is news once it has left", () => {
  const { clock, events, presence } = watched();
  presence.writing(a.uid);
  expect(presence.wasWritten(a.uid)).toBe(true);
  presence.see([a]);
  presence.see([card(a.uid, "new text")]);
  presence.see([]);
  clock.advance(removalDebounceMs);
  expect(events).toEqual([]);
  expect(presence.wasWritten(a.uid)).toBe(false);
  presence.see([a]);
  expect(events).toEqual(["+04aa"]);
});

test("a write concerns its own card alone, of two that lie there", () => {
  const { events, presence } = watched();
  presence.see([a, b]);
  presence.writing(b.uid);
  presence.see([card(a.uid, "x"), card(b.uid, "y")]);
  expect(events).toEqual(["+04aa", "+04bb", "-04aa", "+04aax"]);
  // A second write of the same card does not make it a second card.
  presence.writing(b.uid);
  presence.see([card(a.uid, "x"), card(b.uid, "z")]);
  presence.see([card(a.uid, "x")]);
  expect(events).toHaveLength(4);
});

/** The tokens of a bus, and the events about them, as `+reader:uid text` and `-reader:uid text`. */
function tokensOf() {
  const clock = createManualClock();
  const bus = createBus(silentLog);
  const events: string[] = [];
  bus.on("tokens.added", ({ readerId, uid, text }) => void events.push(`+${readerId}:${uid} ${text}`));
  bus.on("tokens.removed", ({ readerId, uid, text }) => void events.push(`-${readerId}:${uid} ${text}`));
  const tokens = createTokens(bus, clock);
  const active = () => tokens.list().active.map(({ readerId, uid, text }) => `${readerId}:${uid} ${text}`);
  return { clock, events, tokens, active };
}

const laid = (uid: string) => ({ type: "", uid, text: "game", data: "" });
const phone: Requester = { client: "phone", grant: () => "change" };
const tablet: Requester = { client: "tablet", grant: () => "change" };

test("a card that leaves takes no other card with it that has its UID, its text or its reader", () => {
  const { events, tokens, active } = tokensOf();
  tokens.added(card("04aa", "x"), "left");
  tokens.added(card("04aa", "x"), "right");
  tokens.added(card("04aa", "y"), "right");
  tokens.added(card("04bb", "y"), "right");
  tokens.removed(card("04bb", "y"), "right");
  expect(active()).toEqual(["left:04aa x", "right:04aa x", "right:04aa y"]);
  tokens.removed(card("04aa", "y"), "right");
  expect(active()).toEqual(["left:04aa x", "right:04aa x"]);
  tokens.removed(card("04aa", "x"), "right");
  expect(active()).toEqual(["left:04aa x"]);
  expect(events.slice(4)).toEqual(["-right:04bb y", "-right:04aa y", "-right:04aa x"]);
  expect(tokens.list().last).toMatchObject({ uid: "04bb", scanTime: "2027-01-15T08:00:00.000Z" });
});

test("a card that was not there leaves without a word", () => {
  const { events, tokens } = tokensOf();
  tokens.removed(a, "left");
  expect(events).toEqual([]);
});

test("a virtual token lies there for its time, and the next one takes its place at once", () => {
  const { clock, events, tokens, active } = tokensOf();
  tokens.virtual(laid("01"), 1000);
  expect(tokens.list().active).toMatchObject([{ type: "api", readerId: "", data: "" }]);
  clock.advance(600);
  tokens.virtual({ ...laid("02"), type: "NTAG" }, 1000);
  expect(tokens.list().active).toMatchObject([{ type: "NTAG", uid: "02" }]);
  // The time of the first token is over, and its end has no effect.
  clock.advance(999);
  expect(active()).toEqual([":02 game"]);
  clock.advance(1);
  expect(active()).toEqual([]);
  clock.advance(60_000);
  expect(events).toEqual(["+:01 game", "-:01 game", "+:02 game", "-:02 game"]);
});

test("a virtual token belongs to the caller that laid it there, and leaves with that caller's right", () => {
  const { events, tokens, active } = tokensOf();
  const isPhone = (requester: Requester) => requester === phone;
  tokens.withdraw(() => true);
  tokens.virtual(laid("01"), 1000);
  tokens.withdraw(() => true);
  expect(active()).toEqual([":01 game"]);
  tokens.added(a, "left");
  tokens.virtual(laid("02"), 1000, phone);
  const [, virtual] = tokens.list().active;
  if (virtual === undefined) throw new Error("two tokens lie there");
  expect(tokens.list().active.map(tokens.requesterOf)).toEqual([undefined, phone]);
  tokens.withdraw((requester) => requester === tablet);
  expect(active()).toEqual(["left:04aa ", ":02 game"]);
  tokens.withdraw(isPhone);
  expect(active()).toEqual(["left:04aa "]);
  expect(tokens.requesterOf(virtual)).toBeUndefined();
  expect(events.at(-1)).toBe("-:02 game");
});

test("a service that closes removes no virtual token afterwards", () => {
  const { clock, events, tokens } = tokensOf();
  tokens.close();
  tokens.virtual(laid("01"), 1000);
  tokens.close();
  clock.advance(60_000);
  expect(events).toEqual(["+:01 game"]);
});
