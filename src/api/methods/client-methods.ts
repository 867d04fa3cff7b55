/** Paired clients, pairing by code or PIN, and the audit log. All of it can be called on the device itself only. */
import * as v from "valibot";
import { auditPageMax, clientNameCharsMax } from "../../core/limits.ts";
import { method, noParams } from "../method.ts";
import { client, nothing, pairingEnd, pairingFacts, pairingOpening, role } from "../schemas.ts";

export const clients = method({
  name: "clients",
  right: "own",
  docs: "All registered clients, connected or not, with their secrets, roles and last uses. `expires` stands there for a pairing link that nobody has used yet.",
  params: noParams,
  result: v.object({ clients: v.array(client) }),
  run: (services) => ({ clients: services.clients.list() }),
});

export const clientsNew = method({
  name: "clients.new",
  right: "own",
  docs: "Makes a client with a new id and a secret of 32 random bytes, and returns it. A `member`, the default, may do everything but administer the device; a `player` may only look and play. With `link`, for a pairing link, the client is deleted if nobody uses it within ten minutes. A name can be given once: `conflict` if a client has it.",
  params: v.object({
    name: v.optional(v.pipe(v.string(), v.maxLength(clientNameCharsMax))),
    role: v.optional(role),
    link: v.optional(v.boolean()),
  }),
  result: client,
  errors: ["busy", "conflict", "failed"],
  run: (services, { name = "", role = "member", link = false }) =>
    services.clients.add({ name, role, isLink: link }),
});

export const clientsDelete = method({
  name: "clients.delete",
  right: "own",
  docs: "Deletes a client; it can no longer come in.",
  params: v.object({ id: v.pipe(v.string(), v.maxLength(128)) }),
  result: nothing,
  errors: ["not-found", "failed"],
  run(services, { id }) {
    services.clients.remove(id);
    return null;
  },
});

export const pairing = method({
  name: "pairing",
  right: "own",
  docs: "What a pairing link needs: `hosts` are the names and addresses by which others on the network may reach the device, the best first; `port` that of plain HTTP. `fingerprint` is the certificate's. `open` stands there while pairing by a code is open.",
  params: noParams,
  result: pairingFacts,
  run: (services) => services.pairing.describe(),
});

export const pairingOpen = method({
  name: "pairing.open",
  right: "own",
  docs: "Opens pairing by a code for ten minutes, and returns the six digits to be typed into the phone, which gets the role. It closes with the first client that knows them, and after three tries; an opening before it is called off. After wrong codes it answers `busy` for a while, with `data.retryAfterMs`. See `docs/SECURE.md`.",
  params: v.object({ role: v.optional(role) }),
  result: pairingOpening,
  errors: ["busy"],
  run: (services, { role = "member" }) => services.pairing.open(role),
});

export const pairingWait = method({
  name: "pairing.wait",
  right: "own",
  isLong: true,
  docs: "Answers when the opening has ended: `paired`, with the client; `tries`, `expired` or `cancelled`.",
  params: noParams,
  result: pairingEnd,
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

export const clientsPairStart = method({
  name: "clients.pair.start",
  right: "own",
  docs: "Opens pairing for one client that speaks version 1 of the secure layer, where the settings allow such clients: it is typed the `pin` within five minutes, three wrong tries in all. `expiresAt` in seconds since 1970. A PIN that was open until now no longer counts.",
  params: noParams,
  result: v.object({ pin: v.string(), expiresAt: v.pipe(v.number(), v.integer()) }),
  errors: ["failed"],
  run(services) {
    const { pin, endsMs } = services.pairByPin.open();
    return { pin, expiresAt: Math.floor(endsMs / 1000) };
  },
});

export const clientsPairCancel = method({
  name: "clients.pair.cancel",
  right: "own",
  docs: "Ends pairing by PIN: the PIN no longer counts.",
  params: noParams,
  result: v.object({}),
  run(services) {
    services.pairByPin.cancel();
    return {};
  },
});

const event = v.picklist([
  "pairing-opened",
  "paired",
  "revoked",
  "expired",
  "refused",
  "launched",
  "changed",
]);
const why = v.picklist([
  "host-or-origin",
  "too-many-requests",
  "too-many-connections",
  "encryption-required",
  "secure-failure",
  "too-many-failures",
  "wrong-pin",
  "wrong-code",
  "wrong-token",
  "launch-not-allowed",
  "forbidden-method",
]);

export const audit = method({
  name: "audit",
  right: "own",
  docs: "The audit log, newest first: pairings, revocations, expired links, refusals, remote launches and remote changes. A change names its `method` and its `object`. Refusals and launches of a kind are counted together: `count` tells how many a line stands for, 1 where it is absent.",
  params: v.object({
    limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(auditPageMax)), 100),
  }),
  result: v.object({
    entries: v.array(
      v.object({
        time: v.pipe(v.string(), v.isoTimestamp()),
        event,
        client: v.exactOptional(v.string()),
        name: v.exactOptional(v.string()),
        by: v.exactOptional(v.picklist(["secret", "pin", "code"])),
        why: v.exactOptional(why),
        address: v.exactOptional(v.string()),
        method: v.exactOptional(v.string()),
        object: v.exactOptional(v.string()),
        count: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
      }),
    ),
  }),
  run: async (services, { limit }) => ({ entries: await services.audit(limit) }),
});
