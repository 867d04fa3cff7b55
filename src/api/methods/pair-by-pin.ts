/** Pairing of known clients by PIN, opened at the device itself only (version 1 of the secure layer). */
import * as v from "valibot";
import { method, noParams } from "../method.ts";

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
