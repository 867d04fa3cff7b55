/**
 * `PUT /uploads/{id}?offset=N` takes the next bytes of an upload that `uploads.start` has declared: up to 1 MiB, which are
 * streamed to the disk. The answer is `{"offset":M}`, the end of the bytes so far. With `sealed=1` the body is sealed with the
 * upload's key, so a page without TLS may send it. Everybody else needs the right `change` and a private connection.
 */
import type { Server } from "bun";
import type { Audit } from "../core/audit.ts";
import { type ErrorCode, messageOf, ServiceError } from "../core/errors.ts";
import { uploadIdleSecondsMax } from "../core/limits.ts";
import { allows } from "../core/rights.ts";
import type { PoolMember, RemoteLimits } from "./admission/connection-pool.ts";
import { hangUp, json, type Revocation, sentence, type Visit } from "./http.ts";
import type { Services } from "./services.ts";
import type { SocketData } from "./socket-data.ts";

const prefix = "/uploads/";

export function isUploadPath(path: string): boolean {
  return path.startsWith(prefix);
}

interface UploadEndpoint {
  readonly services: Pick<Services, "uploads">;
  readonly limits: RemoteLimits;
  readonly revocation: Revocation;
  readonly audit: Audit;
}

export async function answerUpload(
  { services, limits, revocation, audit }: UploadEndpoint,
  visit: Visit,
  server: Server<SocketData>,
): Promise<Response> {
  const { request, path, address, access, isPrivate, grant } = visit;
  if (request.method !== "PUT") return sentence(405, "the bytes of an upload are a PUT", { allow: "PUT" });
  const asked = new URL(request.url).searchParams;
  const isSealed = asked.get("sealed") === "1";
  if (!isSealed && !isPrivate) {
    audit.refused("encryption-required", { address });
    return unsealed();
  }
  if (!isSealed && !allows(grant(), "change")) {
    audit.refused("forbidden-method", { address, client: visit.client });
    return sentence(403, 'an upload requires the right "change": pair this client with the device', hangUp);
  }
  const text = asked.get("offset") ?? "";
  if (!/^\d{1,15}$/.test(text)) return sentence(400, "offset: it must be a number of bytes");
  const id = path.slice(prefix.length);
  const client = services.uploads.clientOf(id) ?? visit.client;
  const ended = new AbortController();
  const end = () => ended.abort(new ServiceError("busy", "other uploads came first: send it again"));
  using _watching = client === undefined ? undefined : revocation.watch(client, end);
  const member: PoolMember = { address, drop: end };
  if (access !== "device") limits.uploads.enter(member);
  server.timeout(request, uploadIdleSecondsMax);
  try {
    const written = await services.uploads.write(
      {
        id,
        offset: Number(text),
        by: isSealed ? "sealed" : { from: { address, client: visit.client }, grant },
      },
      piecesOf(request.body),
      ended.signal,
      () => limits.uploads.touch(member),
    );
    return answerTo(written, visit, { limits, audit });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return sentence(statusOf(error), messageOf(error), hangUp);
  } finally {
    limits.uploads.leave(member);
    server.timeout(request, answerSeconds);
  }
}

const answerSeconds = 10; // Bun's default.

function answerTo(
  written: Awaited<ReturnType<Services["uploads"]["write"]>>,
  { isPrivate, address, refund }: Visit,
  { limits, audit }: Pick<UploadEndpoint, "limits" | "audit">,
): Response {
  switch (written.kind) {
    case "written":
      // The rate limit is for requests that cost more than they bring.
      refund();
      return json(200, JSON.stringify({ offset: written.offset }));
    case "elsewhere":
      return json(409, JSON.stringify({ offset: written.offset }), hangUp);
    case "forged":
      limits.failures.note(address);
      audit.refused("secure-failure", { address });
      return unsealed();
    case "unknown":
      return isPrivate ? sentence(404, "there is no such upload: call uploads.start", hangUp) : unsealed();
  }
}

/** The answer is the same for every body that cannot be decrypted, so a stranger learns nothing. */
function unsealed(): Response {
  return sentence(403, "encryption is required for remote connections", hangUp);
}

const statusOf = ({ code }: ServiceError): number => statuses.get(code) ?? 507;
const statuses: ReadonlyMap<ErrorCode, number> = new Map([
  ["busy", 503],
  ["forbidden", 403],
  ["conflict", 409],
  ["invalid-params", 413],
  ["not-found", 404],
]);

/** The body as it comes. Bun reads no more from the network while nobody takes a piece. */
function piecesOf(body: ReadableStream<Uint8Array> | null) {
  return async function* pieces(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    if (body === null) return;
    const reader = body.getReader();
    // The stop also ends a read that waits.
    const stop = () => void reader.cancel().catch(() => {});
    signal.addEventListener("abort", stop, { once: true });
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        yield value;
      }
    } catch {
      // The caller is gone. The earlier pieces are written.
    } finally {
      signal.removeEventListener("abort", stop);
      stop();
    }
  };
}
