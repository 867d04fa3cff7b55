/**
 * Paired clients and phones, pairing by code or PIN, and the audit log. Clients are listed with their secrets on the device itself
 * only; an owner works with phones, which have none.
 */
import * as v from "valibot";
import { publicError } from "../../core/errors.ts";
import {
  auditPageMax,
  clientNameCharsMax,
  pairingHostCharsMax,
  revocationUndoMs,
} from "../../core/limits.ts";
import { rightsOf } from "../../core/rights.ts";
import { auditEntry } from "../../core/shapes.ts";
import { method } from "../method.ts";
import { client, pairingEnd, pairingFacts, pairingOpening, rights, role, upTo } from "../schemas.ts";
import type { ClientEntry } from "../services.ts";

const clientId = v.pipe(v.string(), v.maxLength(128));

const phone = v.object({
  ...v.omit(client, ["secret", "address"]).entries,
  isYou: v.exactOptional(v.boolean()),
  byPin: v.exactOptional(v.boolean()),
});

function phoneOf({ secret, address: _address, ...shown }: ClientEntry, caller: string | undefined) {
  return {
    ...shown,
    ...(shown.id === caller ? { isYou: true } : {}),
    // The registry does not show the secret of such an app.
    ...(secret === "" ? { byPin: true } : {}),
  };
}

export const clientMethods = [
  method({
    name: "clients",
    right: "own",
    isLocal: true,
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
    isLocal: true,
    docs: "Makes a client with a new id and a secret of 32 random bytes, and returns it. A `member`, the default, may do everything except administer the device. A `player` may only look and play, and an `owner` administers the device, too. With `link`, for a pairing link, the client is deleted if nobody uses it within ten minutes. Names are unique: `conflict` if a client has the name.",
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
    isLocal: true,
    docs: "Gives a client another role, at once: its connections and scripts end, and it connects again with its new rights. An app that was paired by a PIN is always a member.",
    params: v.object({ id: clientId, role }),
    errors: ["not-found", "failed"],
    run: (services, { id, role }) => services.clients.update(id, { role }),
  }),
  method({
    name: "clients.delete",
    right: "own",
    isLocal: true,
    docs: "Deletes a client, which can no longer connect.",
    params: v.object({ id: clientId }),
    errors: ["not-found", "failed"],
    run: (services, { id }) => services.clients.remove(id),
  }),
  method({
    name: "phones",
    right: "own",
    docs: "The paired phones and programs, without secrets and addresses, in the order in which they were paired. `isYou` marks the caller's own. One with `expires` is a pairing link that nobody has used yet. An app that was paired by a PIN (`byPin`) keeps its name and its role.",
    result: v.object({ phones: v.array(phone) }),
    run: (services, _params, { from }) => ({
      phones: services.clients.list().map((one) => phoneOf(one, from.client)),
    }),
  }),
  method({
    name: "phones.update",
    right: "own",
    docs: "Gives a phone another name or role, at once: its connections and scripts end with a new role, and it connects again with its new rights. Names are unique: `conflict` if another one has the name. The last owner keeps the role, except on the device itself.",
    params: v.object({
      id: clientId,
      name: v.optional(v.pipe(v.string(), v.maxLength(clientNameCharsMax), v.regex(/\S/, "it is empty"))),
      role: v.optional(role),
    }),
    changes: ({ id }) => `phone ${id}`,
    errors: ["conflict", "forbidden", "not-found", "failed"],
    run({ clients }, { id, ...changes }, { access }) {
      if (access !== "device" && changes.role !== undefined && changes.role !== "owner")
        clients.refuseLastOwner(id);
      clients.update(id, changes);
    },
  }),
  method({
    name: "phones.delete",
    right: "own",
    docs: "Revokes a phone, which can no longer connect. `undoMs` is the time in milliseconds in which `phones.restore` takes it back; it is 0 for an app that was paired by a PIN. The last owner can be revoked on the device itself only.",
    params: v.object({ id: clientId }),
    result: v.object({ undoMs: v.pipe(v.number(), v.integer()) }),
    changes: ({ id }) => `phone ${id}`,
    errors: ["forbidden", "not-found", "failed"],
    run({ clients }, { id }, { access }) {
      if (access !== "device") clients.refuseLastOwner(id);
      clients.remove(id);
      return { undoMs: clients.isRestorable(id) ? revocationUndoMs : 0 };
    },
  }),
  method({
    name: "phones.restore",
    right: "own",
    docs: "Takes back `phones.delete` within ten seconds: the phone has its name, its role and its secret again.",
    params: v.object({ id: clientId }),
    changes: ({ id }) => `phone ${id}`,
    errors: ["not-found", "busy", "failed"],
    run: ({ clients }, { id }) => clients.restore(id),
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
    run: (services, { role = "member", host }, { grant }) => services.pairing.open(role, host, grant),
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
