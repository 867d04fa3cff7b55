/** Clients that may come from afar, managed on the device itself only (contract, methods detail 9). */
import * as v from "valibot";
import { clientNameCharsMax } from "../../core/limits.ts";
import { method, noParams } from "../method.ts";
import { client, nothing, role } from "../schemas.ts";

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
