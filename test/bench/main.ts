/**
 * `make bench`: the figures that Tapdeck promises, measured on the compiled binary, each beside a competitor in the same
 * run. Machines differ and are shared, so only the ratios have a meaning.
 */
import { measureBuilds } from "./builds.ts";
import { measureFleet } from "./fleet.ts";
import { measureIdle } from "./idle.ts";
import { measureMappings } from "./mappings.ts";
import { measureMedia } from "./media.ts";
import { measureRecovery } from "./recovery.ts";
import { measureRequests } from "./requests.ts";
import { measureScripts } from "./script.ts";
import { measureTaps } from "./taps.ts";
import { measureUploads } from "./uploads.ts";

const asked = new Set(process.argv.slice(2));
const wanted = (name: string) => asked.size === 0 || asked.has(name);

if (wanted("taps")) await measureTaps();
if (wanted("recovery")) await measureRecovery();
if (wanted("idle")) await measureIdle();
if (wanted("requests")) await measureRequests();
if (wanted("mappings")) await measureMappings();
if (wanted("scripts")) await measureScripts();
if (wanted("media")) await measureMedia();
if (wanted("uploads")) await measureUploads();
// This one is for comparing commits, and needs builds of them.
if (asked.has("builds")) await measureBuilds();
// Ten thousand clients take minutes and a whole machine, so this one runs by its name only.
if (asked.has("fleet")) await measureFleet();
