/** The service itself: `version`, `health`, `rights`, and `rpc.discover` (spec.open-rpc.org, "Service Discovery Method"). */
import * as v from "valibot";
import { allows, allRights, rightsOf } from "../../core/rights.ts";
import { method } from "../method.ts";
import { healthReport, openRpcDocument } from "../schemas.ts";

export const deviceMethods = [
  method({
    name: "version",
    right: "look",
    docs: "The service's version (semver) and platform.",
    result: v.object({ platform: v.string(), version: v.string() }),
    run: ({ platform, version }) => ({ platform, version }),
  }),
  method({
    name: "health",
    right: "look",
    docs: "Whether readers, database, disk, settings, media and players are well, with a sentence for each fault. A media folder that is missing, or has lost all its media, is a fault, but an unplugged USB stick is none. Players that are not confined are a fault, and so is a program that is not installed and that media in the index need. `uptime` is in seconds; `tls.fingerprint` is the SHA-256 of the certificate for TLS. The SD image also has `device`, the faults of its start, and `watchdog`, its actions within the last day. A caller without the right `change` gets no `reason`, because it may name files, readers and devices.",
    result: healthReport,
    async run(services, _params, caller) {
      const health = await services.health();
      if (allows(caller.grant(), "change")) return health;
      return { ...health, checks: health.checks.map(({ name, ok }) => ({ name, ok })) };
    },
  }),
  method({
    name: "rights",
    right: "look",
    docs: "The rights that the caller has now, the lowest first: `look`, `play`, `change`, `own`. Each method and notification names the one that it requires (`x-right`).",
    result: v.object({ rights: v.array(v.picklist(allRights)) }),
    run: (_services, _params, caller) => ({ rights: rightsOf(caller.grant()) }),
  }),
  method({
    name: "rpc.discover",
    right: "look",
    docs: "This description, as an OpenRPC document.",
    result: openRpcDocument,
    run: async (services) => services.describe(),
  }),
] as const;
