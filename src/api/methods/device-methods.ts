/** The service itself: `version`, `health`, `rights`, and `rpc.discover` (spec.open-rpc.org, "Service Discovery Method"). */
import * as v from "valibot";
import { logPageMax, logTextCharsMax, logWaitMsMax, settingsTextCharsMax } from "../../core/limits.ts";
import { keptLevels } from "../../core/log-ring.ts";
import { allows, rightsOf } from "../../core/rights.ts";
import { count } from "../../core/shapes.ts";
import { deviceReport, healthReport, logLine, openRpcDocument } from "../device-schemas.ts";
import { method } from "../method.ts";
import { isoTime, pagination, rights, upTo } from "../schemas.ts";

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
    docs: "Whether readers, database, disk, settings, media and players are well, with the `faults` of each and a sentence of them as `reason`. A media folder that is missing, or has lost all its media, is a fault, but an unplugged USB stick is none. A bundle of shared cards that is refused is a fault of the settings. Players that are not confined are a fault, and so is a program that is not installed and that media in the index need. `uptime` is in seconds; `tls.fingerprint` is the SHA-256 of the certificate for TLS. With a broker in the settings, `mqtt` is its connection. With a server of updates there, `updates` is its last answer: the newest version it offers, the time, and the reason of a failure, which is no fault of this device. `certificates` are those that somebody must renew: `of` is the setting that names the file, `tls/owner.pem`, or `broker` for that of the broker. One that ends within 30 days is a fault. The SD image also has `device`, the faults of its start, and `watchdog`, its actions within the last day. A caller without the right `change` gets no `reason`, no `faults`, no `mqtt`, no `certificates` and no `updates`, because they may name files, readers and devices.",
    result: healthReport,
    async run(services, _params, caller) {
      const health = await services.health();
      if (allows(caller.grant(), "change")) return health;
      const { mqtt: _mqtt, updates: _updates, certificates: _certificates, ...rest } = health;
      return { ...rest, checks: health.checks.map(({ name, ok }) => ({ name, ok })) };
    },
  }),
  method({
    name: "device",
    right: "change",
    docs: "The machine: its name, free memory, disks and networks. `uptime` is that of the service and `systemUptime` that of the machine, in seconds; the temperature is in °C, if there is a sensor. A disk names the folders of Tapdeck on it. `sound`, on the SD image, is where sound plays and which places are connected. `board` and `slot` are those of the SD image. `actions` are what a caller with the right `own` may ask here, `updating` is the last update since the start, as in `device.updating`, and `updates` as in `health`.",
    result: deviceReport,
    run: (services) => services.device(),
  }),
  method({
    name: "device.restart",
    right: "own",
    docs: "Stops the media and restarts the device, on the SD image; below systemd only the service. It answers once positions and saves are stored. The device ends when its screen says so, at most 20 seconds after the call.",
    changes: () => "the device",
    errors: ["failed", "conflict"],
    run: ({ machine }) => machine.restart(),
  }),
  method({
    name: "device.shutdown",
    right: "own",
    docs: "Stops the media and switches the device off, on the SD image only. It answers once positions and saves are stored. The device ends when its screen says so, at most 20 seconds after the call.",
    changes: () => "the device",
    errors: ["failed", "conflict"],
    run: ({ machine }) => machine.shutdown(),
  }),
  method({
    name: "device.update",
    right: "own",
    docs: "Fetches a signed update by its address and installs it, on the SD image only. Without `url` it is the version that the server of updates offers (`updates` of `health`), and it is installed now instead of at a quiet moment. The call answers at once, and `device.updating` reports the progress. The device then restarts, and keeps the update after a healthy minute.",
    params: v.object({
      url: v.exactOptional(
        v.pipe(
          v.string(),
          v.maxLength(settingsTextCharsMax),
          v.regex(/^https?:\/\/\S+$/, "must begin with http:// or https://"),
        ),
      ),
    }),
    shorthand: "url",
    changes: () => "the device",
    errors: ["failed", "conflict"],
    run: ({ machine }, { url }) => machine.update(url),
  }),
  method({
    name: "logs",
    right: "change",
    isLong: true,
    docs: "The newest lines of the log, the oldest of them first: those of at least this `level`, that hold `text`, and are not older than `since`. The device keeps some thousand lines in memory since its start; those of the level `debug`, which hold texts of cards, are on its console only. Without `after`, `pagination.nextCursor` leads to older lines. With `after`, an `id` or the `last` of an earlier answer, the lines after it come, or those after `waitMs` if there is none before; so a caller follows the log. A `last` of before a restart counts as the beginning.",
    params: v.object({
      level: v.optional(v.picklist(keptLevels), "info"),
      text: v.optional(v.pipe(v.string(), v.maxLength(logTextCharsMax)), ""),
      since: v.optional(isoTime),
      limit: v.optional(upTo(logPageMax), 100),
      cursor: v.optional(v.pipe(v.string(), v.regex(/^\d{1,16}$/, "must be the nextCursor of an answer"))),
      after: v.optional(count),
      waitMs: v.optional(v.pipe(count, v.maxValue(logWaitMsMax)), 0),
    }),
    result: v.object({ lines: v.array(logLine), last: count, pagination }),
    errors: ["busy"],
    async run({ logs }, { since, cursor, waitMs, ...query }, { gone }) {
      const sinceMs = since === undefined ? 0 : Date.parse(since);
      const before = cursor === undefined ? undefined : Number(cursor);
      const isFollowed = query.after !== undefined;
      const { lines, hasMore, last } = await logs.follow(
        { ...query, sinceMs, before },
        isFollowed ? waitMs : 0,
        gone(),
      );
      const [oldest] = lines;
      const next = hasMore && !isFollowed && oldest !== undefined ? { nextCursor: `${oldest.id}` } : {};
      return { lines, last, pagination: { hasNextPage: hasMore, pageSize: query.limit, ...next } };
    },
  }),
  method({
    name: "settings.logs.download",
    right: "change",
    docs: "The newest lines of `logs` as a text file, in base64, for known apps.",
    result: v.object({ filename: v.string(), size: count, content: v.string() }),
    errors: ["busy"],
    async run({ logs }, _params, { gone }) {
      const all = { level: "info", text: "", sinceMs: 0, limit: Number.MAX_SAFE_INTEGER } as const;
      const { lines } = await logs.follow(all, 0, gone());
      const texts = lines.map(({ time, level, area, text }) => `${time} ${level} ${area}: ${text}\n`);
      const content = Buffer.from(texts.join(""));
      return { filename: "tapdeck.log", size: content.length, content: content.toString("base64") };
    },
  }),
  method({
    name: "update.check",
    // Callers with the right `change` get the same facts from `health`.
    right: "change",
    docs: "The version of this service, and a newer one that the server of updates in the settings offered at its last answer (`updates` of `health`). `device.update` installs an update.",
    result: v.object({
      currentVersion: v.string(),
      latestVersion: v.exactOptional(v.string()),
      updateAvailable: v.boolean(),
      releaseNotes: v.exactOptional(v.string()),
    }),
    run({ version, updates }) {
      const { version: latest, summary } = updates()?.latest ?? {};
      return {
        currentVersion: version,
        updateAvailable: latest !== undefined,
        ...(latest === undefined ? {} : { latestVersion: latest }),
        ...(summary === undefined ? {} : { releaseNotes: summary }),
      };
    },
  }),
  method({
    name: "rights",
    right: "look",
    docs: "The rights that the caller has now, the lowest first: `look`, `play`, `change`, `own`. Each method and notification names the one that it requires (`x-right`).",
    result: v.object({ rights }),
    run: (_services, _params, caller) => ({ rights: rightsOf(caller.grant()) }),
  }),
  method({
    name: "rpc.discover",
    right: "look",
    docs: "This description, as an OpenRPC document.",
    result: openRpcDocument,
    run: (services) => services.describe(),
  }),
] as const;
