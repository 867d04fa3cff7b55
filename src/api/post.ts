/** One JSON-RPC payload as the body of a POST (decisions, "Other transports"). Every request is a session of its own. */
import { messageBytesMax } from "../core/limits.ts";
import type { Dispatch } from "./dispatch.ts";
import { errorText } from "./envelope.ts";
import { json, sentence, type Visit } from "./http.ts";

export async function answerPost(
  dispatch: Dispatch,
  { request, access, address, isPrivate }: Visit,
): Promise<Response> {
  if (!isPrivate) {
    const text = "encryption is required for remote connections";
    return json(403, errorText(undefined, "encryption-required", text));
  }
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type))
    return sentence(415, "send JSON-RPC as application/json", { accept: "application/json" });
  const body = await bodyOf(request);
  if (body === undefined) return sentence(413, `a message has at most ${messageBytesMax} bytes`);
  const answer = await dispatch({ access, from: { address }, inFlight: 0, gone: () => request.signal }, body);
  return answer === undefined ? new Response(null, { status: 204 }) : json(200, answer);
}

/** The body's text, or undefined where it is too long. */
async function bodyOf(request: Request): Promise<string | undefined> {
  if (Number(request.headers.get("content-length") ?? 0) > messageBytesMax) return undefined;
  const bytes = await request.bytes();
  return bytes.length > messageBytesMax ? undefined : new TextDecoder().decode(bytes);
}
