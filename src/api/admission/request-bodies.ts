/**
 * Reads the bodies of requests. Those from afar are so many at a time, for each may be kept here up to its last byte; a body
 * that does not come on is ended by the runtime's own idle time, and before that by others that want its place.
 */
import { bodiesMax, bodiesPerAddressMax } from "../../core/limits.ts";
import { sentence, type Visit } from "../http.ts";
import { createCrowd, type Member } from "./connection-pool.ts";

export type Body =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  | { readonly kind: "too-long" }
  /** It took too long while others waited, or it broke off: `answer` says so and hangs up. */
  | { readonly kind: "dropped"; readonly answer: Response };

export interface Bodies {
  read(visit: Pick<Visit, "request" | "address" | "access">, bytesMax: number): Promise<Body>;
}

export function createBodies(): Bodies {
  const crowd = createCrowd({ max: bodiesMax, perAddressMax: bodiesPerAddressMax });
  return {
    async read({ request, address, access }, bytesMax) {
      if (Number(request.headers.get("content-length") ?? 0) > bytesMax) return { kind: "too-long" };
      const dropped = Promise.withResolvers<undefined>();
      const member: Member = { address, drop: () => dropped.resolve(undefined) };
      if (access !== "device") crowd.enter(member);
      try {
        const bytes = await Promise.race([request.bytes(), dropped.promise]);
        if (bytes === undefined) return { kind: "dropped", answer: tooSlow() };
        return bytes.length > bytesMax ? { kind: "too-long" } : { kind: "whole", bytes };
      } catch {
        // The caller is gone, and its answer reaches nobody.
        return { kind: "dropped", answer: tooSlow() };
      } finally {
        crowd.leave(member);
      }
    },
  };
}

function tooSlow(): Response {
  return sentence(503, "too many requests are being read: send it again", { connection: "close" });
}
