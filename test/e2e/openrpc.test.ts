/** The API's own description is true: its form is right, and the service accepts and answers accordingly. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import jsonSchema from "@json-schema-tools/meta-schema";
import openRpcSchema from "@open-rpc/meta-schema";
import { Ajv, type ValidateFunction } from "ajv";
import fc from "fast-check";
import type { DescribedMethod } from "../../src/api/openrpc.ts";
import { type Client, RpcError } from "../../src/client/client.ts";
import { paramsFor } from "../helpers/schema-arbitrary.ts";
import { makePlace, noReaders, type Place, type Running, startTapdeck } from "../helpers/tapdeck.ts";

const casesPerMethod = 1000;
const atATime = 32;
const invalidParams = -32602;

const ajv = new Ajv({ strict: false, allErrors: false });
// RFC 3339, 5.6; the parts of a time are within their ranges, days of any month up to 31.
ajv.addFormat(
  "date-time",
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[T ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i,
);

let place: Place;
let service: Running;
let described: readonly DescribedMethod[];

beforeAll(async () => {
  place = await makePlace(noReaders);
  service = await startTapdeck(place);
  const document = await service.client.call("rpc.discover");
  described = document.methods as unknown as DescribedMethod[];
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

test("rpc.discover is an OpenRPC document", async () => {
  const meta = new Ajv({ strict: false }).addSchema(withoutDialect(jsonSchema));
  // The documents refer to this schema with and without the slash at the end of its address.
  meta.addSchema({ $ref: "https://meta.json-schema.tools/" }, "https://meta.json-schema.tools");
  const validate = meta.compile(withoutDialect(openRpcSchema));
  const document = await service.client.call("rpc.discover");
  expect([validate(document), validate.errors]).toEqual([true, null]);
});

test("the document has all notifications, as methods without a result", () => {
  const names = described.filter(({ result }) => result === undefined).map(({ name }) => name);
  expect(names.toSorted()).toEqual(
    [
      "device.updating",
      "launch.finished",
      "launch.guarded",
      "playlist.opened",
      "media.indexing",
      "media.uploading",
      "media.paused",
      "media.resumed",
      "media.started",
      "media.stopped",
      "playtime.warning",
      "playtime.limit.warning",
      "playtime.limit.reached",
      "clients.paired",
      "readers.added",
      "readers.removed",
      "running",
      "tokens.added",
      "tokens.removed",
      "tokens.written",
    ].toSorted(),
  );
});

/** Fields with rules between their values that no schema states. */
const own: Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<unknown>>>>> = {
  // These values name no device of this machine, are equal for all names of one setting, and have only known systems,
  // because no schema lists the systems.
  "settings.update": {
    audioFeedback: fc.constant(true),
    audioScanFeedback: fc.constant(true),
    detectReaders: fc.constant(true),
    readersAutoDetect: fc.constant(true),
    insertMode: fc.constant(true),
    readersScanMode: fc.constant("hold"),
    insertModeExitDelay: fc.constant(2.5),
    readersScanExitDelay: fc.constant(2.5),
    debug: fc.constant(true),
    debugLogging: fc.constant(true),
    readersScanIgnoreSystems: fc.constant(undefined),
    reader: fc.constant(["pn532-uart:/dev/none"]),
    readers: fc.constant(["pn532-uart:/dev/none"]),
    systems: fc.constant({ rootFolder: ["/srv/media"] }),
    insertModeBlocklist: fc.constantFrom([], ["SNES"], ["nes", "Mega Drive"]),
    timeZone: fc.constantFrom("", "UTC", "Europe/Berlin"),
    quietFrom: fc.constantFrom("", "20:00"),
    quietUntil: fc.constantFrom("", "07:30"),
  },
  // These patterns are whole bytes in hexadecimal, which fit every type and match.
  "mappings.new": { pattern: fc.constantFrom("04", "a1b2") },
  "mappings.update": { pattern: fc.constantFrom("04", "a1b2") },
  "mappings.test": {
    draft: fc.constantFrom(undefined, {
      enabled: true,
      type: "uid",
      match: "exact",
      pattern: "04",
      override: "**stop",
    }),
  },
  // The content is a file, whose lines no schema states.
  "mappings.import": {
    format: fc.constant("csv"),
    content: fc.constantFrom("type,match,pattern,override\nuid,exact,04a1,**stop\n"),
  },
  // Macros are a language, whose limits no schema states.
  "input.keyboard": { keys: fc.constantFrom("a", "{enter}", "{ctrl+c}b") },
  "input.gamepad": { buttons: fc.constantFrom("^", "AB", "{start}") },
  // Cursors come from the service.
  "media.browse": {
    cursor: fc.constantFrom("", Buffer.from('["file","Game","Game.sfc"]').toString("base64url")),
  },
  "media.history": { cursor: fc.constantFrom("", "12") },
  "media.search": { cursor: fc.constantFrom("", "0", "250") },
  "tokens.history": { cursor: fc.constantFrom("", "12") },
  "settings.playtime.limits.update": {
    daily: fc.constantFrom("0", "0s", "90m", "1h30m0s"),
    session: fc.constantFrom("", "1h", "168h"),
    sessionReset: fc.constantFrom("1m0s", "60s"),
    warnings: fc.constantFrom([], ["5m"], ["1m0s", "2h"]),
  },
  // A caller that follows the log waits up to 25 s for its next line.
  logs: { waitMs: fc.integer({ min: 0, max: 5 }) },
  // A teaching waits half a minute for a press. The names of keys are those of the kernel.
  "buttons.learn": { waitMs: fc.integer({ min: 0, max: 5 }) },
  "buttons.save": { key: fc.constantFrom("KEY_A", "REL_DIAL+") },
  "buttons.remove": { key: fc.constantFrom("KEY_A", "REL_DIAL+") },
  // A passphrase takes half a second each time, and a backup that stays is synced.
  backup: { passphrase: fc.constant(undefined), keep: fc.constant(false) },
  // This machine refuses every update and restore, and knows no upload.
  "device.update": { url: fc.constantFrom("http://127.0.0.1:9/a.update", "https://example.org/b") },
  restore: { sha256: fc.constant("0".repeat(64)), passphrase: fc.constant(undefined) },
  "uploads.finish": { id: fc.constant("0".repeat(32)), sha256: fc.constant("0".repeat(64)) },
  "uploads.cancel": { id: fc.constant("0".repeat(32)) },
  // The ids of networks are their names as hex digits.
  "wifi.join": { id: fc.constantFrom("486f6d65", "c3a9") },
  "wifi.prefer": { id: fc.constantFrom("486f6d65", "c3a9") },
  "wifi.forget": { id: fc.constantFrom("486f6d65", "c3a9") },
  "bluetooth.pair": { address: fc.constant("00:1B:DC:00:00:02") },
  "bluetooth.forget": { address: fc.constant("00:1B:DC:00:00:02") },
  // Virtual tokens that stay on the reader for an hour would fill the reader.
  "tokens.scan": { duration: fc.integer({ min: 1, max: 5 }) },
};

test(`${casesPerMethod} random params of every method are accepted or refused as its schema says, and results fit theirs`, async () => {
  const counts = new Map<string, [accepted: number, refused: number]>();
  for (const method of described) {
    if (method.result === undefined) continue;
    const params = ajv.compile(method["x-params"]);
    const result = ajv.compile(method.result.schema);
    const samples = fc.sample(paramsFor(method["x-params"], own[method.name] ?? {}), casesPerMethod);
    const count: [number, number] = [0, 0];
    for (let at = 0; at < samples.length; at += atATime) {
      await Promise.all(
        samples.slice(at, at + atATime).map(async (sample) => {
          const isFit = params(sample);
          count[isFit ? 0 : 1] += 1;
          await check(service.client, { method: method.name, sample, isFit, result });
        }),
      );
    }
    counts.set(method.name, count);
  }
  // Both accepted and refused calls must occur, or nothing was tested.
  for (const [name, [accepted, refused]] of counts) {
    if (Object.keys(paramsOf(name)).length === 0) continue;
    expect([name, accepted > 20, refused > 20]).toEqual([name, true, true]);
  }
}, 600_000);

/** Both meta-schemas name a dialect of their own, which is draft-07 under another name. */
function withoutDialect(schema: object): object {
  return { ...schema, $schema: "http://json-schema.org/draft-07/schema#" };
}

interface Case {
  readonly method: string;
  readonly sample: unknown;
  readonly isFit: boolean;
  readonly result: ValidateFunction;
}

async function check(client: Client, { method, sample, isFit, result }: Case): Promise<void> {
  try {
    const answer = await client.callAny(method, sample);
    if (!isFit) throw new Error(`${method} took ${JSON.stringify(sample)} against its schema`);
    if (!result(answer)) throw new Error(`${method} answered ${JSON.stringify(answer)} against its schema`);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    // The reason of any other refusal is not in the params.
    if ((error.code === invalidParams) === isFit)
      throw new Error(`${method} answered ${error.message} to ${JSON.stringify(sample)}`);
  }
}

function paramsOf(name: string): object {
  const schema = described.find((method) => method.name === name)?.["x-params"];
  return (schema?.properties ?? {}) as object;
}
