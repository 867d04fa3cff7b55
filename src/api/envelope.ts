/** JSON-RPC 2.0 (jsonrpc.org/specification), without I/O: a payload's text to requests, and answers to text. */
import { type ErrorCode, rpcCodes, ServiceError } from "../core/errors.ts";
import { jsonExcess } from "../core/json-excess.ts";
import { batchRequestsMax, jsonDepthMax, requestIdCharsMax } from "../core/limits.ts";
import { isRecord, parseJson } from "../core/text.ts";

/** The answer repeats it exactly. */
type RequestId = string | number | null;

export type Item =
  /** A call without an id is a notification, which runs and is never answered. */
  | {
      readonly kind: "request";
      readonly id: RequestId | undefined;
      readonly method: string;
      readonly params: unknown;
    }
  /** The item is answered with this text, without a change. */
  | { readonly kind: "refused"; readonly answer: string }
  /** A response by the peer. Such an item is ignored, because the service sends no requests. */
  | { readonly kind: "response" };

type Envelope =
  | { readonly kind: "single"; readonly item: Item }
  | { readonly kind: "batch"; readonly items: readonly Item[] };

/** Never throws; anything that is not a request is a refused item. With more than `valuesMax` values the payload is refused. */
export function readEnvelope(text: string, valuesMax?: number): Envelope {
  const excess = jsonExcess(text, valuesMax);
  if (excess === "depth")
    return refusedWhole("busy", `JSON may be nested ${jsonDepthMax} deep`, { limit: "jsonDepthMax" });
  if (excess === "values") {
    const sentence = `a message of a caller without an identity has at most ${valuesMax} values`;
    return refusedWhole("busy", sentence, { limit: "anonymousJsonValuesMax" });
  }
  const payload = parseJson(text);
  if (payload === undefined) return refusedWhole("parse-error", "this is not JSON");
  if (!Array.isArray(payload)) return { kind: "single", item: readItem(payload) };
  if (payload.length === 0) return refusedWhole("invalid-request", "a batch holds at least one request");
  if (payload.length > batchRequestsMax) {
    return refusedWhole("busy", `a batch holds at most ${batchRequestsMax} requests`, {
      limit: "batchRequestsMax",
    });
  }
  return { kind: "batch", items: payload.map(readItem) };
}

function refusedWhole(code: ErrorCode, message: string, data?: object): Envelope {
  return { kind: "single", item: { kind: "refused", answer: errorText(undefined, code, message, data) } };
}

function refused(message: string, id?: RequestId): Item {
  return { kind: "refused", answer: errorText(id, "invalid-request", message) };
}

function readItem(value: unknown): Item {
  if (!isRecord(value)) return refused("a request is an object");
  const { jsonrpc, id, method, params } = value;
  if (method === undefined && ("result" in value || "error" in value)) return { kind: "response" };
  if (id !== undefined && !isId(id)) {
    return refused(
      `id must be a text of at most ${requestIdCharsMax} characters, a whole number below 2^53, or null`,
    );
  }
  if (jsonrpc !== "2.0") return refused('jsonrpc must be "2.0"', id);
  if (typeof method !== "string") return refused("method must be a text", id);
  return { kind: "request", id, method, params };
}

/** Whether the answer to a request may have this id. */
export function isId(id: unknown): id is RequestId {
  if (typeof id === "string") return id.length <= requestIdCharsMax;
  return id === null || Number.isSafeInteger(id);
}

export function resultText(id: RequestId, result: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result: result ?? null });
}

/** Writes an error; one without an id is a protocol error, which has no `id` member. */
export function errorText(
  id: RequestId | undefined,
  code: ErrorCode,
  message: string,
  data: object = {},
): string {
  const error = { code: rpcCodes[code], message, data: { reason: code, ...data } };
  return JSON.stringify(id === undefined ? { jsonrpc: "2.0", error } : { jsonrpc: "2.0", id, error });
}

export function notificationText(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}

/** The answer for any error. An error that is no `ServiceError` is our fault, and its message is not sent. */
export function refusalText(id: RequestId | undefined, error: unknown): string {
  if (error instanceof ServiceError) {
    // A launch that failed at once has its reason as the code of the refusal.
    const { code, message, reason, data } = error;
    return errorText(id, code, message, reason === undefined ? data : { refusal: reason, ...data });
  }
  return errorText(id, "internal-error", "internal error");
}
