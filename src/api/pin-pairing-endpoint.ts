/**
 * `POST /api/pair/start` and `/api/pair/finish`: known clients pair by PIN (version 1 of the secure layer). Remote callers may
 * send them in the clear, because the messages are useless without the PIN. Errors are `{"error":"..."}`, as these clients
 * expect.
 *
 *   start    {"name","pake": base64}       -> {"session","pake": base64}
 *   finish   {"session","confirm": base64} -> {"authToken","clientId","confirm": base64}
 */
import type { Audit } from "../core/audit.ts";
import { ServiceError } from "../core/errors.ts";
import { v1PairBodyBytesMax, v1PakeBytesMax } from "../core/limits.ts";
import { parseJson } from "../core/text.ts";
import type { OpenPinPairing, PairingAnswer, V1Pairing } from "../v1/v1-pairing.ts";
import type { RemoteLimits } from "./admission/connection-pool.ts";
import { isJson, json, sentence, type Visit } from "./http.ts";

export interface PairByPin extends Pick<V1Pairing, "start" | "finish" | "cancel"> {
  readonly isAllowed: () => boolean;
  /** Throws `failed` if the settings do not admit these clients. */
  open(): OpenPinPairing;
}

const paths: ReadonlySet<string> = new Set(["/api/pair/start", "/api/pair/finish"]);

export function isPairPath(path: string): boolean {
  return paths.has(path);
}

interface PairParts {
  readonly pairByPin: PairByPin;
  readonly limits: Pick<RemoteLimits, "bodies">;
  readonly audit: Audit;
}

export async function answerPair(
  { pairByPin: pairing, limits, audit }: PairParts,
  visit: Visit,
): Promise<Response> {
  const { request, path, address } = visit;
  if (!pairing.isAllowed()) return sentence(404, "there is nothing here: the API is at /api/v0.1");
  const cors = corsOf(request);
  if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: cors });
  if (request.method !== "POST") return sentence(405, "pairing is a POST", { allow: "POST" });
  const refuse = (status: number, error: string) => json(status, JSON.stringify({ error }), cors);
  if (!isJson(request)) return refuse(415, "send application/json");
  // A body without a length could grow to the limit of any request.
  if (!request.headers.has("content-length")) return refuse(400, "invalid request body");
  const read = await limits.bodies.read(visit, v1PairBodyBytesMax);
  if (read.kind === "dropped") return read.answer;
  const body = read.kind === "whole" ? objectIn(read.bytes) : undefined;
  if (body === undefined) return refuse(400, "invalid request body");
  try {
    const answer = path.endsWith("start") ? start(pairing, body) : finish(pairing, body);
    if (answer.kind === "answer") return json(200, JSON.stringify(answer.body), cors);
    if (answer.status === 401) audit.refused("wrong-pin", { address });
    return refuse(answer.status, answer.error);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return refuse(500, error.message);
  }
}

type Body = Readonly<Record<string, unknown>>;
type Outcome = PairingAnswer<{ readonly body: object }>;

function start(pairing: PairByPin, { name, pake }: Body): Outcome {
  if (typeof name !== "string") return refused("client name required");
  const message = bytesOf(pake);
  if (message === undefined) return refused("invalid PAKE message");
  if (message.length > v1PakeBytesMax) return refused("PAKE message too long");
  const answer = pairing.start(name, message);
  if (answer.kind === "refused") return answer;
  return { kind: "answer", body: { session: answer.session, pake: answer.message.toBase64() } };
}

function finish(pairing: PairByPin, { session, confirm }: Body): Outcome {
  const mac = bytesOf(confirm);
  if (typeof session !== "string" || mac === undefined) return refused("invalid request body");
  const answer = pairing.finish(session, mac);
  if (answer.kind === "refused") return answer;
  const { token, clientId, confirm: proof } = answer;
  return { kind: "answer", body: { authToken: token, clientId, confirm: proof.toBase64() } };
}

function refused(error: string): Outcome {
  return { kind: "refused", status: 400, error };
}

/** Lets a page of the app's own origin, which was admitted before, read the answer (Fetch Standard, 3.2). */
function corsOf({ headers }: Request): Readonly<Record<string, string>> {
  const origin = headers.get("origin");
  if (origin === null) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "content-type",
    "access-control-allow-private-network": "true",
    vary: "origin",
  };
}

function objectIn(bytes: Uint8Array): Body | undefined {
  const value = parseJson(new TextDecoder().decode(bytes));
  return typeof value === "object" && value !== null ? { ...value } : undefined;
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (typeof value !== "string") return undefined;
  try {
    return Uint8Array.fromBase64(value);
  } catch {
    // The caller reports every malformed field alike.
    return undefined;
  }
}
