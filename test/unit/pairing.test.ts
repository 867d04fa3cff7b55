/** Pairing by a short code: both ends of the wire, and the opening with its tries. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { type PairingTry, withPairing } from "../../src/api/pairing-line.ts";
import { ServiceError } from "../../src/core/errors.ts";
import { pairingDigits, pairingOpenMs, pairingTriesMax } from "../../src/core/limits.ts";
import { createLog } from "../../src/core/log.ts";
import {
  answerPairing,
  newPairingCode,
  type PairingDevice,
  pairAsClient,
  pairAsDevice,
  readCode,
  readPairingHello,
  startPairing,
} from "../../src/secure/pairing.ts";
import { loadPrimitives } from "../../src/secure/primitives.ts";
import { createPairing } from "../../src/wiring/pairing.ts";
import { createManualClock } from "../helpers/manual-clock.ts";

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

test("who knows the code gets id and secret, and its name arrives with it", async () => {
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

test("what goes over the wire holds neither code nor secret, and is new each time", () => {
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
        // Refused, which is what is looked for.
      }
      // X25519 does not look at a share's top bit (RFC 7748, 5), but the confirmation covers it.
      expect(isGranted).toBe(false);
    }),
    { numRuns: 60 },
  );
});

test("what is no hello is none: handshakes, sealed frames, requests, noise, shares of other lengths", () => {
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
  // 300 of each are expected; a fair draw misses these bounds once in some 10^15 runs.
  for (const times of digits.values()) expect(Math.abs(times - 300)).toBeLessThan(140);
});

function world() {
  const clock = createManualClock();
  const lines: string[] = [];
  const added: string[] = [];
  const audited: string[] = [];
  const pairing = createPairing({
    clock,
    audit: {
      note: ({ event }) => audited.push(event),
      refused: (why, { address }) => audited.push(`${why} ${address}`),
      launched() {},
      changed() {},
    },
    log: createLog({ debug: true, write: (line) => lines.push(line) }),
    addClient(name) {
      added.push(name);
      return { ...credentials, name, address: "" };
    },
  });
  /** As a phone does it, up to its proof. */
  const knock = async (code: string) => {
    const client = pairAsClient(primitives, code, "phone");
    const attempt = await pairing.begin(helloOf(client.hello), "10.0.0.7");
    return { client, attempt, finish: () => client.finish(attempt.prove(client.prove(attempt.reply))) };
  };
  return { clock, pairing, knock, lines, added, audited };
}

const other = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, "0");

test("no pairing is open until it is opened, and none behind the one that was paired", async () => {
  const { pairing, knock, added, lines, audited } = world();
  expect(knock("000000")).rejects.toThrow("no pairing by code is open");
  const { code } = await pairing.open();
  const ended = pairing.wait();
  expect((await knock(code)).finish()).toEqual(credentials);
  expect(await ended).toEqual({ reason: "paired", client: { id: credentials.id, name: "phone" } });
  expect(added).toEqual(["phone"]);
  // One that was granted is no wrong one, whenever its socket goes.
  expect(audited).toEqual(["wrong-code 10.0.0.7", "pairing-opened"]);
  expect(knock(code)).rejects.toThrow("no pairing by code is open");
  expect(lines.join("\n")).not.toMatch(new RegExp(`${code}|${credentials.secret}`));
});

test("three tries in all, also where they are made at once, and the right code behind them gets nothing", async () => {
  const { pairing, knock, added } = world();
  const { code } = await pairing.open();
  const ended = pairing.wait();
  const tries = await Promise.allSettled(Array.from({ length: 20 }, () => knock(other(code))));
  const begun = tries.filter((one) => one.status === "fulfilled");
  expect(begun).toHaveLength(pairingTriesMax);
  expect(knock(code)).rejects.toThrow("no pairing by code is open");
  for (const { value } of begun) expect(value.finish).toThrow("this is not the code");
  expect(await ended).toEqual({ reason: "tries" });
  expect(added).toEqual([]);
});

test("a try that goes away without proving itself is spent", async () => {
  const { pairing, knock, audited } = world();
  const { code } = await pairing.open();
  const ended = pairing.wait();
  for (let run = 0; run < pairingTriesMax; run++) (await knock(code)).attempt.close();
  expect(await ended).toEqual({ reason: "tries" });
  expect(audited).toEqual(["pairing-opened", ...Array(pairingTriesMax).fill("wrong-code 10.0.0.7")]);
});

test("forged shares are refused, and spend the tries", async () => {
  const { pairing, knock, audited } = world();
  expect(knock("000000")).rejects.toThrow("no pairing by code is open");
  await pairing.open();
  const ended = pairing.wait();
  for (let run = 0; run < pairingTriesMax; run++) {
    const begun = pairing.begin({ name: "", share: new Uint8Array(32) }, "10.0.0.7");
    expect(await begun.catch(({ code }) => code)).toBe("secure-failure");
  }
  expect(await ended).toEqual({ reason: "tries" });
  expect(audited.filter((line) => line === "wrong-code 10.0.0.7")).toHaveLength(1 + pairingTriesMax);
});

test("a wrong code leaves what is left of the tries to the right one", async () => {
  const { pairing, knock } = world();
  const { code } = await pairing.open();
  const wrong = await knock(other(code));
  expect(wrong.finish).toThrow("2 tries are left");
  expect(pairing.current()?.triesLeft).toBe(2);
  expect((await knock(code)).finish()).toEqual(credentials);
});

test("it closes after two minutes, when it is called off, and when it is opened anew", async () => {
  const { clock, pairing, knock } = world();
  const first = await pairing.open();
  const expired = pairing.wait();
  const late = await knock(first.code);
  clock.advance(pairingOpenMs);
  expect(await expired).toEqual({ reason: "expired" });
  expect(late.finish).toThrow("no pairing by code is open");

  const second = await pairing.open();
  const replaced = pairing.wait();
  const third = await pairing.open();
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
  // Before the reply nothing can follow.
  pairing.take("hasty");
  expect(refused).toHaveLength(1);
  pairing.take("more");
  await Bun.sleep(0);
  expect([sent, sealed]).toEqual([[], []]);

  const handshake = line();
  handshake.take("anything");
  // Pairing is for the first text of a connection only.
  handshake.take(hello);
  expect(sealed).toEqual(["anything", hello]);
});
