/** One JSON-RPC payload as the body of a POST. Every request is a session of its own. */
import { ServiceError } from "../core/errors.ts";
import { messageBytesMax } from "../core/limits.ts";
import type { Bodies } from "./admission/request-bodies.ts";
import type { Dispatch } from "./dispatch.ts";
import { errorText } from "./envelope.ts";
import { json, sentence, type Visit } from "./http.ts";
import type { Revocation } from "./revocation.ts";

const answerSeconds = 10; // The time that the runtime gives everybody else.

export interface PostParts {
  readonly dispatch: Dispatch;
  readonly bodies: Bodies;
  readonly revocation: Revocation;
}

/** `setPatience` says how many seconds the request's connection may be silent from now on; 0: for ever. */
export async function answerPost(
  { dispatch, bodies, revocation }: PostParts,
  visit: Visit,
  setPatience: (seconds: number) => void,
): Promise<Response> {
  const { request, access, address, isPrivate, client } = visit;
  if (!isPrivate) {
    const text = "encryption is required for remote connections";
    return json(403, errorText(undefined, "encryption-required", text));
  }
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type))
    return sentence(415, "send JSON-RPC as application/json", { accept: "application/json" });
  const body = await bodies.read(visit, messageBytesMax);
  if (body.kind === "dropped") return body.answer;
  if (body.kind === "too-long") return sentence(413, `a message has at most ${messageBytesMax} bytes`);
  const revoked = new AbortController();
  using _watching =
    client === undefined ? undefined : revocation.watch(client, () => revoked.abort(clientRevoked()));
  const session = {
    access,
    grant: visit.grant,
    from: { address, client },
    inFlight: 0,
    gone: () => AbortSignal.any([request.signal, revoked.signal]),
  };
  // `media.index` answers when it is done, however long that takes; but neither sending nor reading takes for ever.
  setPatience(0);
  const answer = await dispatch(session, new TextDecoder().decode(body.bytes));
  setPatience(answerSeconds);
  return answer === undefined ? new Response(null, { status: 204 }) : json(200, answer);
}

function clientRevoked(): ServiceError {
  return new ServiceError("forbidden", "this client was revoked");
}
