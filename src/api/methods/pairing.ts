/** How a phone is let in: where it can reach the device, and pairing by a code; at the device itself only. */
import * as v from "valibot";
import { method, noParams } from "../method.ts";
import { count, nothing, role } from "../schemas.ts";

const expires = v.pipe(v.string(), v.isoTimestamp());

export const pairing = method({
  name: "pairing",
  right: "own",
  docs: "What a pairing link needs: `hosts` are the names and addresses by which others on the network may reach the device, the best first; `port` that of plain HTTP. `fingerprint` is the certificate's. `open` stands there while pairing by a code is open.",
  params: noParams,
  result: v.object({
    hosts: v.array(v.string()),
    port: count,
    fingerprint: v.exactOptional(v.string()),
    open: v.exactOptional(v.object({ expires, triesLeft: count })),
  }),
  run: (services) => services.pairing.describe(),
});

export const pairingOpen = method({
  name: "pairing.open",
  right: "own",
  docs: "Opens pairing by a code for ten minutes, and returns the six digits to be typed into the phone, which gets the role. It closes with the first client that knows them, and after three tries; an opening before it is called off. After wrong codes it answers `busy` for a while, with `data.retryAfterMs`. See `docs/SECURE.md`.",
  params: v.object({ role: v.optional(role) }),
  result: v.object({ code: v.string(), expires, triesLeft: count }),
  errors: ["busy"],
  run: (services, { role = "member" }) => services.pairing.open(role),
});

export const pairingWait = method({
  name: "pairing.wait",
  right: "own",
  isLong: true,
  docs: "Answers when the opening has ended: `paired`, with the client; `tries`, `expired` or `cancelled`.",
  params: noParams,
  result: v.object({
    reason: v.picklist(["paired", "tries", "expired", "cancelled"]),
    client: v.exactOptional(v.object({ id: v.string(), name: v.string() })),
  }),
  errors: ["not-found"],
  run: (services) => services.pairing.wait(),
});

export const pairingCancel = method({
  name: "pairing.cancel",
  right: "own",
  docs: "Closes pairing by a code, if it is open.",
  params: noParams,
  result: nothing,
  run(services) {
    services.pairing.cancel();
    return null;
  },
});
