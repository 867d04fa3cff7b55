/** Paired clients, pairing by code or PIN, and the audit log. All but `clients.current` can be called on the device itself only. */
import * as v from "valibot";
import { publicError } from "../../core/errors.ts";
import { auditPageMax, clientNameCharsMax, pairingHostCharsMax } from "../../core/limits.ts";
import { rightsOf } from "../../core/rights.ts";
import { auditEntry } from "../../core/shapes.ts";
import { method } from "../method.ts";
import { client, pairingEnd, pairingFacts, pairingOpening, rights, role, upTo } from "../schemas.ts";

const clientId = v.pipe(v.string(), v.maxLength(128));

export const clientMethods = [
  method({
    name: "clients",
    right: "own",
    docs: "All registered clients, connected or not, with their secrets, roles and last uses. A pairing link that nobody has used yet has `expires`.",
    result: v.object({ clients: v.array(client) }),
    run: (services) => ({ clients: services.clients.list() }),
  }),
  method({
    name: "clients.current",
    right: "look",
    docs: "The caller's own client, without its secret, and the rights that it has now. `not-found` for a caller without an identity of its own, as on the device.",
    result: v.object({ ...v.omit(client, ["secret"]).entries, rights }),
    errors: ["not-found"],
    run(services, _params, { grant, from }) {
      const own = services.clients.list().find(({ id }) => id === from.client);
      if (own === undefined)
        throw publicError("not-found", "this connection has no client: tapdeck pair makes one for a program");
      const { secret: _secret, ...shown } = own;
      return { ...shown, rights: rightsOf(grant()) };
    },
  }),
  method({
    name: "clients.new",
    right: "own",
    docs: "Makes a client with a new id and a secret of 32 random bytes, and returns it. A `member`, the default, may do everything except administer the device. A `player` may only look and play. With `link`, for a pairing link, the client is deleted if nobody uses it within ten minutes. Names are unique: `conflict` if a client has the name.",
    params: v.object({
      name: v.optional(v.pipe(v.string(), v.maxLength(clientNameCharsMax))),
      role: v.optional(role),
      link: v.optional(v.boolean()),
    }),
    result: client,
    errors: ["busy", "conflict", "failed"],
    run: (services, { name = "", role = "member", link = false }) =>
      services.clients.add({ name, role, isLink: link }),
  }),
  method({
    name: "clients.update",
    right: "own",
    docs: "Gives a client another role, at once: its connections and scripts end, and it connects again with its new rights. An app that was paired by a PIN is always a member.",
    params: v.object({ id: clientId, role }),
    errors: ["not-found", "failed"],
    run: (services, { id, role }) => services.clients.setRole(id, role),
  }),
  method({
    name: "clients.delete",
    right: "own",
    docs: "Deletes a client, which can no longer connect.",
    params: v.object({ id: clientId }),
    errors: ["not-found", "failed"],
    run: (services, { id }) => services.clients.remove(id),
  }),
  method({
    name: "pairing",
    right: "own",
    docs: "The parts of a pairing link. `hosts` are the names and addresses of the device on the network, the best first. `port` is that of plain HTTP, and `fingerprint` that of the certificate. `open` is there while pairing by a code is open.",
    result: pairingFacts,
    run: (services) => services.pairing.describe(),
  }),
  method({
    name: "pairing.open",
    right: "own",
    docs: "Opens pairing by a code for ten minutes, and returns six digits. The phone on which they are typed gets the role. It closes after the first client that knows them, and after three tries. An earlier opening is cancelled. After wrong codes it answers `busy` for a while, with `data.retryAfterMs`. It is refused if `hosts` of `pairing` is empty, because no phone could reach the device, unless `host` names an address for phones, such as that of a proxy. See `docs/SECURE.md`.",
    params: v.object({
      role: v.optional(role),
      host: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(pairingHostCharsMax))),
    }),
    result: pairingOpening,
    errors: ["busy", "failed"],
    run: (services, { role = "member", host }) => services.pairing.open(role, host),
  }),
  method({
    name: "pairing.cancel",
    right: "own",
    docs: "Closes pairing by a code, if it is open.",
    run: (services) => services.pairing.cancel(),
  }),
  method({
    name: "pairing.wait",
    right: "own",
    isLong: true,
    docs: "Answers when the opening has ended: `paired` with the client, `tries`, `expired` or `cancelled`.",
    result: pairingEnd,
    errors: ["not-found"],
    run: (services) => services.pairing.wait(),
  }),
  method({
    name: "clients.pair.start",
    right: "own",
    docs: "Opens pairing by PIN for one client with version 1 of the secure layer, if the settings allow such clients. The `pin` is valid for five minutes and three wrong tries in all. `expiresAt` is in seconds since 1970. An earlier PIN is no longer valid.",
    result: v.object({ pin: v.string(), expiresAt: v.pipe(v.number(), v.integer()) }),
    errors: ["failed"],
    run(services) {
      const { pin, endsMs } = services.pairByPin.open();
      return { pin, expiresAt: Math.floor(endsMs / 1000) };
    },
  }),
  method({
    name: "clients.pair.cancel",
    right: "own",
    docs: "Ends pairing by PIN: the PIN is no longer valid.",
    result: v.object({}),
    run(services) {
      services.pairByPin.cancel();
      return {};
    },
  }),
  method({
    name: "audit",
    right: "own",
    docs: "The audit log, newest first: pairings, revocations, changed roles, expired links, refusals, remote launches and remote changes. A change names its `method` and its `object`. Equal refusals and launches are counted in one entry: `count` is their number, and 1 if it is absent.",
    params: v.object({
      limit: v.optional(upTo(auditPageMax), 100),
    }),
    result: v.object({
      entries: v.array(auditEntry),
    }),
    run: async (services, { limit }) => ({ entries: await services.audit(limit) }),
  }),
] as const;
