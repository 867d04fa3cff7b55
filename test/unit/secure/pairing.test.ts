/** Pairing by a short code: both ends of the wire, and the opening with its tries. */
import { afterEach, expect, test } from "bun:test";
import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { type PairingTry, withPairing } from "../../../src/api/sealed-line.ts";
import { ServiceError } from "../../../src/core/errors.ts";
import {
  pairingDelayMsMax,
  pairingDelayMsMin,
  pairingDigits,
  pairingHellosMax,
  pairingHellosPerAddressMax,
  pairingOpenMs,
  pairingTriesMax,
  pairingWrongCodesFree,
  pairingWrongCodesKeptMs,
} from "../../../src/core/limits.ts";
import { createLog } from "../../../src/core/log.ts";
import {
  answerPairing,
  newPairingCode,
  type PairingDevice,
  pairAsClient,
  pairAsDevice,
  readCode,
  readPairingHello,
  startPairing,
} from "../../../src/secure/pairing.ts";
import { loadPrimitives } from "../../../src/secure/primitives.ts";
import { createPairing } from "../../../src/services/pairing-service.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { createStores } from "../../helpers/stores.ts";

const { newFolder, open: openStore, close: closeStore, clean } = createStores();
afterEach(clean);

const primitives = await loadPrimitives();
const credentials = { id: "5f4dcc3b-0000-4000-8000-000000000001", secret: "ab".repeat(32) };

function helloOf(text: string) {
  const hello = readPairingHello(text);
  if (hello === undefined) throw new Error(`no hello: ${text}`);
  return hello;
}

function deviceFor(code: string, hello: string): PairingDevice {
  const device = pairAsDevice(primitives, code, helloOf(hello));
  if (device === undefined) throw new Error("the share was refused");
  return device;
}

test("a client that knows the code gets id and secret, and its name arrives with it", async () => {
  const client = await startPairing("123456", "Anna's phone ☎");
  expect(helloOf(client.hello).name).toBe("Anna's phone ☎");
  const device = await answerPairing("123456", helloOf(client.hello));
  const proof = client.prove(device?.reply ?? "");
  expect(device?.isProof(proof)).toBe(true);
  expect(client.finish(device?.grant(credentials) ?? "")).toEqual(credentials);
});

test("another code is refused by both sides, whichever of them has it", () => {
  const client = pairAsClient(primitives, "123456", "");
  const device = deviceFor("123457", client.hello);
  expect(device.isProof(client.prove(device.reply))).toBe(false);
  // A device that does not know the code cannot make a client believe it.
  expect(() => client.finish(device.grant(credentials))).toThrow("does not open");
});

test("the texts on the wire hold neither code nor secret, and are new each time", () => {
  const seen = new Set<string>();
  for (let run = 0; run < 5; run++) {
    const client = pairAsClient(primitives, "480213", "");
    const device = deviceFor("480213", client.hello);
    const proof = client.prove(device.reply);
    const grant = device.grant(credentials);
    const wire = [client.hello, device.reply, proof, grant];
    expect(client.finish(grant)).toEqual(credentials);
    for (const text of wire) {
      expect(text).not.toContain("480213");
      expect(text).not.toContain(credentials.secret);
      seen.add(text);
    }
  }
  expect(seen.size).toBe(20);
});

test("any bit changed in any message ends in a refusal", () => {
  const flip = (text: string, field: string, at: number) => {
    const frame = JSON.parse(text);
    const bytes = Uint8Array.fromBase64(frame[field]);
    bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ (1 << (at % 7));
    return JSON.stringify({ ...frame, [field]: bytes.toBase64() });
  };
  const stages = ["hello", "reply", "proof", "tag", "seal", "name"] as const;
  fc.assert(
    fc.property(fc.constantFrom(...stages), fc.nat(200), (stage, at) => {
      const on = (which: (typeof stages)[number], text: string, field = "p") =>
        stage === which ? flip(text, field, at) : text;
      let isGranted = false;
      try {
        const client = pairAsClient(primitives, "123456", "phone");
        const hello = stage === "name" ? client.hello.replace("phone", "thief") : on("hello", client.hello);
        const device = deviceFor("123456", hello);
        const proof = client.prove(on("reply", device.reply));
        if (!device.isProof(on("proof", proof))) throw new Error("refused");
        client.finish(on("seal", on("tag", device.grant(credentials)), "e"));
        isGranted = true;
      } catch {
        // A refusal, as the tests expect it.
      }
      // X25519 does not look at a share's top bit (RFC 7748, 5), but the confirmation covers it.
      expect(isGranted).toBe(false);
    }),
    { numRuns: 60 },
  );
});

test("a text that is no hello is none: handshakes, sealed frames, requests, noise, shares of other lengths", () => {
  const share = new Uint8Array(32).toBase64();
  const others = [
    "",
    "{",
    "[]",
    "null",
    '{"jsonrpc":"2.0","id":1,"method":"version"}',
    `{"v":2,"t":"a","e":"${share}"}`,
    `{"v":3,"p":"${share}"}`,
    `{"v":2,"p":"${new Uint8Array(31).toBase64()}"}`,
    `{"v":2,"p":"${share} "}`,
    `{"v":2,"p":"${share}","n":5}`,
    `{"v":2,"p":"${share}","n":"${"x".repeat(256)}"}`,
    `{"v":2,"p":"${share}","n":"\\ud800"}`,
    `{"v":2,"p":"${share}","n":"${"x".repeat(10_000)}"}`,
  ];
  for (const text of others) expect(readPairingHello(text), text).toBeUndefined();
  fc.assert(fc.property(fc.string(), (text) => readPairingHello(text) === undefined));
});

test("a code is six digits, however they are grouped, and each is as likely as the others", async () => {
  expect(readCode(" 123-456 ")).toBe("123456");
  for (const wrong of ["", "12345", "1234567", "12345a", "１２３４５６"])
    expect(readCode(wrong)).toBeUndefined();
  const digits = new Map<string, number>();
  for (let run = 0; run < 500; run++) {
    const code = await newPairingCode();
    expect(code).toMatch(new RegExp(`^\\d{${pairingDigits}}$`));
    for (const digit of code) digits.set(digit, (digits.get(digit) ?? 0) + 1);
  }
  expect(digits.size).toBe(10);
  // 300 of each are expected. A fair draw misses these bounds about once in 10^15 runs.
  for (const times of digits.values()) expect(Math.abs(times - 300)).toBeLessThan(140);
});

function world(folder = newFolder(), clock = createManualClock()) {
  const lines: string[] = [];
  const added: string[] = [];
  const audited: string[] = [];
  const store = openStore(folder, { clock });
  const pairing = createPairing({
    clock,
    audit: {
      note: ({ event }) => audited.push(event),
      refused: (why, { address }) => audited.push(`${why} ${address}`),
      launched() {},
      changed() {},
    },
    log: createLog({ debug: true, write: (line) => lines.push(line) }),
    guesses: store.pairingGuesses,
    addClient(name, role) {
      added.push(`${name} ${role}`);
      return { ...credentials, name };
    },
  });
  /** Acts as a phone does, up to its proof. */
  const knock = async (code: string, address = "10.0.0.7") => {
    const client = pairAsClient(primitives, code, "phone");
    const attempt = await pairing.begin(helloOf(client.hello), address);
    return { client, attempt, finish: () => client.finish(attempt.prove(client.prove(attempt.reply))) };
  };
  /** A wrong code, and the refusal. */
  const guess = async (code: string, address?: string) =>
    refusalOf((await knock(other(code), address)).finish);
  /** A folder in the state that the next start finds after a crash. */
  const pullPlug = () => {
    const left = newFolder();
    for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(left, name));
    pairing.close();
    closeStore(store);
    return left;
  };
  return { clock, pairing, knock, guess, lines, added, audited, pullPlug };
}

const other = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, "0");

function refusalOf(run: () => unknown): ServiceError {
  try {
    run();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

/** The result of a promise, as a value. */
const resultOf = <T>(promise: Promise<T>) =>
  promise.then(
    (value) => ({ kind: "done", value }) as const,
    (error: unknown) => {
      if (!(error instanceof ServiceError)) throw error;
      return { kind: "refused", error } as const;
    },
  );

async function rejectionOf(promise: Promise<unknown>): Promise<ServiceError> {
  const result = await resultOf(promise);
  if (result.kind === "done") throw new Error("it was not refused");
  return result.error;
}

/** Milliseconds that a refusal asks for. */
const retryOf = ({ code, data }: ServiceError) =>
  code === "busy" && typeof data?.retryAfterMs === "number" ? data.retryAfterMs : undefined;

test("no pairing is open until it is opened, and none behind the one that was paired", async () => {
  const { pairing, knock, added, lines, audited } = world();
  expect(knock("000000")).rejects.toThrow("no pairing by code is open");
  const { code } = await pairing.open("player");
  const ended = pairing.wait();
  expect((await knock(code)).finish()).toEqual(credentials);
  expect(await ended).toEqual({ reason: "paired", client: { id: credentials.id, name: "phone" } });
  expect(added).toEqual(["phone player"]);
  // A granted proof is not a wrong one, even if its socket closes.
  expect(audited).toEqual(["wrong-code 10.0.0.7", "pairing-opened"]);
  expect(knock(code)).rejects.toThrow("no pairing by code is open");
  expect(lines.join("\n")).not.toMatch(new RegExp(`${code}|${credentials.secret}`));
});

test("many proofs at once are no more than three, and the right code behind them gets nothing", async () => {
  const { pairing, knock, added } = world();
  const { code } = await pairing.open("member");
  const ended = pairing.wait();
  const begun = await Promise.all(
    Array.from({ length: pairingHellosMax }, (_, at) =>
      knock(at === 15 ? code : other(code), `10.0.0.${at}`),
    ),
  );
  const told = begun.map(({ finish }) => refusalOf(finish));
  const looked = told.filter(({ data }) => typeof data?.triesLeft === "number");
  expect(looked.map(({ data }) => data?.triesLeft)).toEqual([2, 1, 0]);
  expect(await ended).toEqual({ reason: "tries" });
  expect(added).toEqual([]);
});

test("a delay that one proof causes holds for the others that were begun before", async () => {
  const { clock, pairing, knock, guess, added } = world();
  const first = await pairing.open("member");
  for (let run = 1; run < pairingWrongCodesFree; run++) await guess(first.code);
  const { code } = await pairing.open("member");
  const [wrong, right] = [await knock(other(code)), await knock(code)];
  expect(refusalOf(wrong.finish).data).toEqual({
    refusal: "pairing-wrong-code",
    triesLeft: 2,
    retryAfterMs: pairingDelayMsMin,
  });
  expect(retryOf(refusalOf(right.finish))).toBe(pairingDelayMsMin);
  expect(added).toEqual([]);
  // A proof that is not checked uses up no try.
  expect(pairing.current()?.triesLeft).toBe(2);
  clock.advance(pairingDelayMsMin);
  expect((await knock(code)).finish()).toEqual(credentials);
});

test("an exchange that goes away without a proof spends no try", async () => {
  const { pairing, knock, audited } = world();
  const { code } = await pairing.open("member");
  for (let run = 0; run < 10 * pairingTriesMax; run++) (await knock(other(code))).attempt.close();
  expect(pairing.current()?.triesLeft).toBe(pairingTriesMax);
  expect((await knock(code)).finish()).toEqual(credentials);
  expect(audited).toEqual(["pairing-opened"]);
});

test("an address with many open exchanges evicts its own, and the owner's phone keeps its place", async () => {
  const { pairing, knock } = world();
  const { code } = await pairing.open("member");
  const [hoarded, owner] = [await knock(code, "10.0.0.66"), await knock(code, "10.0.0.7")];
  for (let run = 0; run < 3 * pairingHellosMax; run++) await knock(code, "10.0.0.66");
  const told = refusalOf(hoarded.finish);
  expect([told.code, told.data]).toEqual(["busy", { limit: "pairingHellosMax" }]);
  expect(pairing.current()?.triesLeft).toBe(pairingTriesMax);
  expect(owner.finish()).toEqual(credentials);
});

test("many addresses with open exchanges evict the oldest of all, and the next phone has a place", async () => {
  const { pairing, knock } = world();
  const { code } = await pairing.open("member");
  const begun = [];
  for (let at = 0; at <= pairingHellosMax; at++)
    begun.push(await knock(other(code), `10.0.1.${Math.floor(at / pairingHellosPerAddressMax)}`));
  expect(begun.map(({ finish }) => refusalOf(finish).data?.limit).slice(0, 2)).toEqual([
    "pairingHellosMax",
    undefined,
  ]);
  // The two free guesses are used up, and the third may be right.
  expect(pairing.current()).toBeUndefined();
});

test("forged shares are refused, and spend no try", async () => {
  const { pairing, knock, audited } = world();
  expect(knock("000000")).rejects.toThrow("no pairing by code is open");
  const { code } = await pairing.open("member");
  for (let run = 0; run < 2 * pairingTriesMax; run++) {
    const begun = pairing.begin({ name: "", share: new Uint8Array(32) }, "10.0.0.7");
    expect((await rejectionOf(begun)).code).toBe("secure-failure");
  }
  expect(audited.filter((line) => line === "secure-failure 10.0.0.7")).toHaveLength(2 * pairingTriesMax);
  expect((await knock(code)).finish()).toEqual(credentials);
});

/** Other bytes that are the same share for X25519, which ignores the top bit. */
const disguised = (share: Uint8Array) => share.with(31, (share[31] ?? 0) ^ 0x80);

test("a share that the device has sent in this opening is refused as a client's, in disguise as well", async () => {
  const { pairing, knock } = world();
  const { code } = await pairing.open("member");
  const first = await knock(code);
  const share = Uint8Array.fromBase64(JSON.parse(first.attempt.reply).p);
  first.attempt.close();
  await knock(code);
  for (const reflected of [share, disguised(share)]) {
    const begun = pairing.begin({ name: "", share: reflected }, "10.0.0.7");
    expect((await rejectionOf(begun)).code).toBe("secure-failure");
  }
  expect(pairing.current()?.triesLeft).toBe(pairingTriesMax);
});

test("a device that sends the client's own share back is refused, in disguise as well", () => {
  for (const change of [(share: Uint8Array) => share, disguised]) {
    const client = pairAsClient(primitives, "123456", "");
    const own = Uint8Array.fromBase64(JSON.parse(client.hello).p);
    const reply = JSON.stringify({ v: 2, p: change(own).toBase64() });
    expect(() => client.prove(reply)).toThrow("does not open");
  }
});

test("a device refuses a hello with the share that it draws itself", () => {
  const scalar = new Uint8Array(32).fill(7);
  const fixed = { ...primitives, randomBytes: () => scalar.slice() };
  const client = pairAsClient(fixed, "123456", "");
  expect(pairAsDevice(fixed, "123456", helloOf(client.hello))).toBeUndefined();
  expect(pairAsDevice(primitives, "123456", helloOf(client.hello))).toBeDefined();
});

/**
 * Opens pairing again and again, and guesses as fast as permitted, for this long; returns the number of checked guesses.
 */
async function guessFor(
  durationMs: number,
  { clock, pairing, knock }: ReturnType<typeof world>,
): Promise<number> {
  const endMs = clock.now() + durationMs;
  const pause = (ms: number | undefined) => {
    if (ms === undefined) throw new Error("a refusal without a time");
    clock.advance(Math.min(ms, endMs - clock.now()));
  };
  let looked = 0;
  while (clock.now() < endMs) {
    const opened = await resultOf(pairing.open("member"));
    if (opened.kind === "refused") {
      pause(retryOf(opened.error));
      continue;
    }
    while (pairing.current() !== undefined && clock.now() < endMs) {
      const begun = await resultOf(knock(other(opened.value.code)));
      if (begun.kind === "refused") pause(retryOf(begun.error));
      else if (typeof refusalOf(begun.value.finish).data?.triesLeft === "number") looked += 1;
    }
  }
  return looked;
}

const dayMs = 24 * 60 * 60 * 1000;

test("a day of guessing, with pairing opened again all day, succeeds with a chance below 0.1 %", async () => {
  const guesses = await guessFor(dayMs, world());
  // As `src/core/limits.ts` explains, the last of the 102 guesses falls on the end of the day.
  expect(guesses).toBe(101);
  expect(guesses / 10 ** pairingDigits).toBeLessThan(0.001);
});

test("a plug that is pulled all day wins no guess", async () => {
  const clock = createManualClock();
  let folder = newFolder();
  let guesses = 0;
  for (const endMs = clock.now() + dayMs; clock.now() < endMs; ) {
    const run = world(folder, clock);
    guesses += await guessFor(20 * 60_000, run);
    folder = run.pullPlug();
  }
  expect(guesses).toBeGreaterThan(pairingWrongCodesFree);
  expect(guesses).toBeLessThan(110);
});

test("the count of wrong codes outlasts a pulled plug, whatever the clock says then", async () => {
  const first = world();
  const { code } = await first.pairing.open("member");
  for (let run = 0; run < pairingTriesMax; run++) await first.guess(code);
  let folder = first.pullPlug();
  for (const startMs of [first.clock.now(), first.clock.now() + 60_000, 1_000]) {
    const next = world(folder, createManualClock(startMs));
    expect(retryOf(await rejectionOf(next.pairing.open("member")))).toBe(pairingDelayMsMin);
    next.clock.advance(pairingDelayMsMin);
    expect((await next.pairing.open("member")).triesLeft).toBe(pairingTriesMax);
    folder = next.pullPlug();
  }
  const nextDay = world(folder, createManualClock(first.clock.now() + pairingWrongCodesKeptMs));
  await nextDay.pairing.open("member");
});

test("a guess is on the disk before it is looked at, and is not looked at where the disk refuses", async () => {
  const clock = createManualClock();
  const saved: number[] = [];
  let isFull = false;
  const pairing = createPairing({
    clock,
    audit: { note() {}, refused() {}, launched() {}, changed() {} },
    log: createLog({ debug: true, write() {} }),
    addClient: (name) => ({ ...credentials, name }),
    guesses: {
      read: () => undefined,
      save({ wrong }) {
        if (isFull) throw new ServiceError("failed", "the disk is full");
        saved.push(wrong);
      },
    },
  });
  const { code } = await pairing.open("member");
  const knock = async (typed: string) => {
    const client = pairAsClient(primitives, typed, "");
    const attempt = await pairing.begin(helloOf(client.hello), "10.0.0.7");
    return () => client.finish(attempt.prove(client.prove(attempt.reply)));
  };
  isFull = true;
  expect(await knock(code)).toThrow("the disk is full");
  expect(pairing.current()?.triesLeft).toBe(pairingTriesMax);
  isFull = false;
  expect(await knock(other(code))).toThrow("2 tries are left");
  expect((await knock(code))()).toEqual(credentials);
  // Both proofs were counted, and the right one removed the count of this opening.
  expect(saved).toEqual([1, 2, 0]);
});

test("a few typing errors hold nobody up for long, and are forgiven with the right code", async () => {
  const { clock, pairing, knock, guess } = world();
  const first = await pairing.open("member");
  for (let run = 0; run < pairingTriesMax; run++) await guess(first.code);
  const waitMs = retryOf(await rejectionOf(pairing.open("member"))) ?? 0;
  expect(waitMs).toBe(pairingDelayMsMin);
  clock.advance(waitMs);
  for (let phone = 0; phone < 5; phone++) {
    const { code } = await pairing.open("member");
    // This is the fourth wrong code of the day each time: the earlier three stay, and the success of an opening removes
    // its own.
    expect((await guess(code)).data).toEqual({
      refusal: "pairing-wrong-code",
      triesLeft: 2,
      retryAfterMs: 2 * pairingDelayMsMin,
    });
    clock.advance(2 * pairingDelayMsMin);
    expect((await knock(code)).finish()).toEqual(credentials);
  }
});

test("no delay is longer than a quarter of an hour, and a day without a wrong code forgets all", async () => {
  const { clock, pairing, guess } = world();
  let longestMs = 0;
  for (let run = 0; run < 20; run++) {
    const { code } = await pairing.open("member");
    const told = await guess(code);
    const waitMs = typeof told.data?.retryAfterMs === "number" ? told.data.retryAfterMs : 0;
    longestMs = Math.max(longestMs, waitMs);
    clock.advance(waitMs);
  }
  expect(longestMs).toBe(pairingDelayMsMax);
  clock.advance(pairingWrongCodesKeptMs);
  const { code } = await pairing.open("member");
  expect((await guess(code)).data).toEqual({ refusal: "pairing-wrong-code", triesLeft: 2 });
});

test("the clock that jumps ahead wins no guess", async () => {
  const clock = createManualClock();
  let aheadMs = 0;
  const jumping = { ...clock, now: () => clock.now() + aheadMs };
  const run = world(newFolder(), jumping);
  const { code } = await run.pairing.open("member");
  for (let at = 0; at < pairingTriesMax; at++) await run.guess(code);
  aheadMs = 2 * dayMs;
  expect(retryOf(await rejectionOf(run.pairing.open("member")))).toBe(1);
});

test("a wrong code leaves what is left of the tries to the right one", async () => {
  const { pairing, knock } = world();
  const { code } = await pairing.open("member");
  const wrong = await knock(other(code));
  expect(wrong.finish).toThrow("2 tries are left");
  expect(pairing.current()?.triesLeft).toBe(2);
  expect((await knock(code)).finish()).toEqual(credentials);
});

test("it closes after ten minutes, when it is called off, and when it is opened again", async () => {
  const { clock, pairing, knock } = world();
  const first = await pairing.open("member");
  const expired = pairing.wait();
  const late = await knock(first.code);
  clock.advance(pairingOpenMs);
  expect(await expired).toEqual({ reason: "expired" });
  expect(late.finish).toThrow("no pairing by code is open");

  const second = await pairing.open("member");
  const replaced = pairing.wait();
  const third = await pairing.open("member");
  expect(await replaced).toEqual({ reason: "cancelled" });
  if (second.code !== third.code) expect((await knock(second.code)).finish).toThrow("this is not the code");
  const cancelled = pairing.wait();
  pairing.cancel();
  expect(await cancelled).toEqual({ reason: "cancelled" });
  expect(pairing.wait()).rejects.toThrow("no pairing is open");
  expect(pairing.current()).toBeUndefined();
});

test("a socket that asked for pairing carries nothing else, and one that did not is sealed as ever", async () => {
  const sent: string[] = [];
  const sealed: string[] = [];
  const refused: string[] = [];
  const line = () =>
    withPairing(
      { take: (text) => sealed.push(text), send: () => {}, clientId: undefined, close() {} },
      {
        door: {
          read: readPairingHello,
          begin: async (): Promise<PairingTry> => ({
            reply: "reply",
            prove() {
              throw new ServiceError("forbidden", "another code");
            },
            close() {},
          }),
        },
        address: "10.0.0.7",
        send: (text) => sent.push(text),
        refuse: ({ message }) => refused.push(message),
        onPaired() {},
      },
    );
  const { hello } = pairAsClient(primitives, "123456", "");
  const pairing = line();
  pairing.take(hello);
  // No message can follow before the reply.
  pairing.take("hasty");
  expect(refused).toHaveLength(1);
  pairing.take("more");
  await Bun.sleep(0);
  expect([sent, sealed]).toEqual([[], []]);

  const handshake = line();
  handshake.take("anything");
  // Pairing is possible only in the first text of a connection.
  handshake.take(hello);
  expect(sealed).toEqual(["anything", hello]);
});
