/** Clients that may come from afar, managed on the device itself only (contract, methods detail 9). */
import * as v from "valibot";
import { clientNameCharsMax } from "../../core/limits.ts";
import { method, noParams } from "../method.ts";
import { client, nothing } from "../schemas.ts";

export const clients = method({
  name: "clients",
  right: "own",
  docs: "All registered clients, connected or not, with their secrets.",
  params: noParams,
  result: v.object({ clients: v.array(client) }),
  run: (services) => ({ clients: services.clients.list() }),
});

export const clientsNew = method({
  name: "clients.new",
  right: "own",
  docs: "Makes a client with a new id and a secret of 32 random bytes, and returns it.",
  params: v.object({ name: v.optional(v.pipe(v.string(), v.maxLength(clientNameCharsMax))) }),
  result: client,
  errors: ["busy", "failed"],
  run: (services, { name = "" }) => services.clients.add(name),
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
