/** JSON-RPC envelopes: the requests, the refused payloads with their errors, and the texts of answers. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  errorText,
  type Item,
  notificationText,
  readEnvelope,
  refusalText,
  resultText,
} from "../../../src/api/envelope.ts";
import { rpcCodes, ServiceError } from "../../../src/core/errors.ts";
import { batchRequestsMax, jsonDepthMax, requestIdCharsMax } from "../../../src/core/limits.ts";

function itemOf(text: string): Item {
  const envelope = readEnvelope(text);
  if (envelope.kind !== "single") throw new Error(`a batch was read from ${text}`);
  return envelope.item;
}

/** The error of a refused payload, and whether the answer has an id. */
function refusalOf(text: string): { id: unknown; code: number; message: string; data: unknown } {
  const item = itemOf(text);
  if (item.kind !== "refused") throw new Error(`${text} was not refused: ${item.kind}`);
  const { jsonrpc, id, error } = JSON.parse(item.answer);
  expect(jsonrpc).toBe("2.0");
  return { id, ...error };
}

const request = (more: object) => JSON.stringify({ jsonrpc: "2.0", method: "version", ...more });
/** An array `depth` deep, with `inner` in it. */
const nested = (depth: number, inner = "") => `${"[".repeat(depth)}${inner}${"]".repeat(depth)}`;

test("a request has its id, method and params", () => {
  expect(itemOf(request({ id: "a", params: { limit: 1 } }))).toEqual({
    kind: "request",
    id: "a",
    method: "version",
    params: { limit: 1 },
  });
  expect(itemOf(request({}))).toEqual({
    kind: "request",
    id: undefined,
    method: "version",
    params: undefined,
  });
});

const ids: readonly (readonly [id: unknown, isGood: boolean])[] = [
  ["", true],
  ["x".repeat(requestIdCharsMax), true],
  ["x".repeat(requestIdCharsMax + 1), false],
  [null, true],
  [0, true],
  [-1, true],
  [2 ** 53 - 1, true],
  [2 ** 53, false],
  [1.5, false],
  [true, false],
  [{}, false],
  [[], false],
];

for (const [id, isGood] of ids)
  test(`the id ${JSON.stringify(id).slice(0, 20)} is ${isGood ? "echoed" : "refused"}`, () => {
    const text = request({ id });
    if (isGood) return expect(itemOf(text)).toMatchObject({ kind: "request", id });
    expect(refusalOf(text)).toMatchObject({
      id: undefined,
      code: -32600,
      data: { reason: "invalid-request" },
    });
  });

const notRequests: readonly (readonly [what: string, text: string, id?: unknown])[] = [
  ["a number", "1"],
  ["a text", '"version"'],
  ["null", "null"],
  ["false", "false"],
  ["no version", '{"id":7,"method":"version"}', 7],
  ["another version", '{"jsonrpc":"1.0","id":7,"method":"version"}', 7],
  ["no method", '{"jsonrpc":"2.0","id":7}', 7],
  ["a method that is no text", '{"jsonrpc":"2.0","id":"a","method":5}', "a"],
];

for (const [what, text, id] of notRequests)
  test(`${what} is no request, and the refusal has the request's id if it has one`, () => {
    expect(refusalOf(text)).toMatchObject({ id, code: -32600 });
  });

test("a response of the peer is ignored, with a result or an error", () => {
  expect(itemOf('{"jsonrpc":"2.0","id":1,"result":null}')).toEqual({ kind: "response" });
  expect(itemOf('{"jsonrpc":"2.0","id":1,"error":{}}')).toEqual({ kind: "response" });
  expect(itemOf('{"jsonrpc":"2.0","id":1,"method":"version","result":1}').kind).toBe("request");
});

test("a text that is not JSON is a parse error without an id", () => {
  for (const text of ["", "{", "ping", '{"jsonrpc":"2.0"', '"\\"'])
    expect(refusalOf(text)).toMatchObject({ id: undefined, code: -32700, data: { reason: "parse-error" } });
});

test("a batch has its items in their order, each judged by itself", () => {
  const envelope = readEnvelope(`[${request({ id: 1 })},2,${request({ id: 3 })}]`);
  if (envelope.kind !== "batch") throw new Error("no batch was read");
  expect(envelope.items.map(({ kind }) => kind)).toEqual(["request", "refused", "request"]);
});

test("an empty batch is refused", () => {
  expect(refusalOf("[]")).toMatchObject({ id: undefined, code: -32600 });
});

test("a batch may have batchRequestsMax items, and not one more", () => {
  const batch = (count: number) => `[${Array(count).fill("1").join(",")}]`;
  expect(readEnvelope(batch(batchRequestsMax)).kind).toBe("batch");
  expect(refusalOf(batch(batchRequestsMax + 1))).toMatchObject({
    code: -32000,
    data: { reason: "busy", limit: "batchRequestsMax" },
  });
});

test("JSON may be jsonDepthMax deep, of arrays and objects alike, and not deeper", () => {
  const tooDeep = { code: -32000, data: { reason: "busy", limit: "jsonDepthMax" } };
  expect(readEnvelope(nested(jsonDepthMax)).kind).toBe("batch");
  expect(refusalOf(nested(jsonDepthMax + 1))).toMatchObject(tooDeep);
  expect(refusalOf(`${'{"a":'.repeat(jsonDepthMax + 1)}1${"}".repeat(jsonDepthMax + 1)}`)).toMatchObject(
    tooDeep,
  );
  const objects = `${'{"jsonrpc":"2.0","method":"m","params":'}${'{"a":'.repeat(jsonDepthMax - 1)}1${"}".repeat(jsonDepthMax)}`;
  expect(itemOf(objects).kind).toBe("request");
});

test("brackets side by side are not deep", () => {
  const flat = `[${Array(batchRequestsMax).fill('[{"a":[]}]').join(",")}]`;
  expect(readEnvelope(flat).kind).toBe("batch");
});

test("closed brackets make no room for deeper ones", () => {
  const closed = Array(jsonDepthMax).fill("[]").join(",");
  expect(refusalOf(`[${closed},${nested(jsonDepthMax)}]`)).toMatchObject({ data: { limit: "jsonDepthMax" } });
});

test("brackets within texts count for nothing, after escaped quotes and backslashes too", () => {
  const open = "[{".repeat(jsonDepthMax);
  for (const text of [open, `"${open}`, `\\${open}`, `\\"${open}`, `${open}\\`])
    expect(itemOf(request({ params: { text } })).kind).toBe("request");
});

test("an escaped quote does not end a text, so that brackets after the text count", () => {
  const deep = nested(jsonDepthMax);
  for (const text of ["\\", '"', '\\"', '"\\'])
    expect(refusalOf(`{"a":${JSON.stringify(text)},"b":${deep}}`)).toMatchObject({
      data: { limit: "jsonDepthMax" },
    });
});

test("a result is answered with the id; none is null", () => {
  expect(JSON.parse(resultText(5, { a: 1 }))).toEqual({ jsonrpc: "2.0", id: 5, result: { a: 1 } });
  expect(JSON.parse(resultText(null, undefined))).toEqual({ jsonrpc: "2.0", id: null, result: null });
  expect(JSON.parse(resultText("a", 0))).toEqual({ jsonrpc: "2.0", id: "a", result: 0 });
});

test("an error has its number, sentence and reason, and no id where there is none", () => {
  expect(JSON.parse(errorText("a", "not-found", "no such token", { uid: "04" }))).toEqual({
    jsonrpc: "2.0",
    id: "a",
    error: { code: 3, message: "no such token", data: { reason: "not-found", uid: "04" } },
  });
  expect(JSON.parse(errorText(undefined, "busy", "wait"))).toEqual({
    jsonrpc: "2.0",
    error: { code: -32000, message: "wait", data: { reason: "busy" } },
  });
  expect(JSON.parse(errorText(null, "busy", "wait"))).toHaveProperty("id", null);
});

test("each error has the number that clients read in docs/API.md", () => {
  const text = readFileSync(join(import.meta.dir, "../../../docs/API.md"), "utf8");
  const rows = text.matchAll(/^\| (-?\d+) \| ([a-z-]+) \|$/gm);
  const documented = Object.fromEntries([...rows].map(([, code, reason]) => [reason, Number(code)]));
  expect(Object.keys(documented).length).toBeGreaterThan(10);
  expect(documented).toEqual({ ...rpcCodes });
});

test("a refusal crosses the wire, and the text of a fault of ours does not", () => {
  const refusal = new ServiceError("forbidden", "pair first", { data: { right: "change" } });
  expect(JSON.parse(refusalText(1, refusal))).toEqual({
    jsonrpc: "2.0",
    id: 1,
    error: { code: 2, message: "pair first", data: { reason: "forbidden", right: "change" } },
  });
  expect(JSON.parse(refusalText(1, new Error("/home/secret")))).toEqual({
    jsonrpc: "2.0",
    id: 1,
    error: { code: -32603, message: "internal error", data: { reason: "internal-error" } },
  });
});

test("a notification has no id", () => {
  expect(JSON.parse(notificationText("tokens.removed", {}))).toEqual({
    jsonrpc: "2.0",
    method: "tokens.removed",
    params: {},
  });
});
