/**
 * `/metrics`: counts and states in the text format of Prometheus (version 0.0.4), written by hand. Loaded only if
 * `api.metrics` is true. Labels hold ids of readers, names of checks and the like, and never a UID, a text or a path.
 */
import { readFile } from "node:fs/promises";
import type { Services } from "../api/services.ts";
import type { Bus } from "../bus.ts";
import { updateState } from "../core/device-shapes.ts";
import type { Descriptors } from "../core/operating-system.ts";
import { readerFaults } from "../core/reader-faults.ts";
import type { LaunchFinished, Running } from "../core/shapes.ts";
import type { TokenParams } from "../core/token.ts";

interface CountingParts {
  readonly bus: Bus;
  /** Identifies a card. */
  readonly cardOf: (token: TokenParams) => string;
  /** The card whose script started the current media; undefined if no card did. */
  readonly cardOfMedia: () => string | undefined;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

interface MetricsParts extends CountingParts {
  readonly services: Pick<Services, "version" | "platform" | "health" | "device" | "readers" | "media">;
  readonly dataFolder: string;
  readonly site: () => string;
  readonly descriptors: Pick<Descriptors, "count" | "limit">;
}

/** Counts until disposed. Create it before the rules of taps, so it receives each tap first. */
export function createMetrics(parts: MetricsParts) {
  const counting = countEvents(parts);
  const startTime = startOfProcess();
  return {
    /** The answer to a scrape. Resolves within two seconds, as its parts do. */
    text: async () =>
      [...counting.families(), ...(await statesOf(parts)), ...(await processFamilies(parts, startTime()))]
        .map(familyText)
        .join(""),
    [Symbol.dispose]: counting[Symbol.dispose],
  };
}

/** Upper bounds in seconds. A tap takes some milliseconds on a PC, and tens of them on a board. */
const tapBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A tap whose launch has not finished. */
interface PendingTap {
  readonly card: string;
  readonly startMs: number;
  isMeasured: boolean;
}

function countEvents({ bus, cardOf, cardOfMedia, now = () => performance.now() }: CountingParts) {
  const taps = new Map<string, number>();
  const launches = { success: 0, failure: 0 };
  const failures = new Map<string, number>();
  const tapTimes = createHistogram(tapBounds);
  let runStartMs: number | undefined;
  let lastRun: { readonly endMs: number; readonly seconds: number } | undefined;
  // The launch of a tap is queued while the bus still calls the listeners of `tokens.added`.
  let arrived: PendingTap | undefined;
  // By launch. The number is limited, because each launch of the queue finishes.
  const pending = new Map<string, PendingTap>();
  const measure = (tap: PendingTap) => {
    if (!tap.isMeasured) tapTimes.add((now() - tap.startMs) / 1000);
    tap.isMeasured = true;
  };
  const listening = [
    bus.on("tokens.added", (token) => {
      const reader = token.readerId === "" ? "api" : token.readerId;
      countOne(taps, reader);
      arrived = { card: cardOf(token), startMs: now(), isMeasured: false };
      queueMicrotask(() => {
        arrived = undefined;
      });
    }),
    bus.on("running", (launch) => {
      if (arrived !== undefined) pending.set(launchOf(launch), arrived);
    }),
    bus.on("media.started", () => {
      const card = cardOfMedia();
      const tap = [...pending.values()].find((one) => one.card === card && !one.isMeasured);
      if (tap !== undefined) measure(tap);
    }),
    bus.on("launch.finished", (launch) => {
      launches[launch.success ? "success" : "failure"] += 1;
      if (!launch.success) countOne(failures, launch.reason ?? "failed");
      const tap = pending.get(launchOf(launch));
      pending.delete(launchOf(launch));
      // A failed launch is not measured, because its time is that of its cause, such as the 3 s of a player.
      if (tap !== undefined && launch.success) measure(tap);
    }),
    bus.on("media.indexing", ({ indexing }) => {
      if (indexing) runStartMs ??= now();
      else if (runStartMs !== undefined) {
        lastRun = { endMs: now(), seconds: (now() - runStartMs) / 1000 };
        runStartMs = undefined;
      }
    }),
  ];
  return {
    families: (): readonly Family[] => [
      family("tapdeck_taps_total", "Cards that were put on a reader, or on the API.", "reader", taps),
      family("tapdeck_launches_total", "Launches that have ended.", "outcome", Object.entries(launches)),
      family("tapdeck_failed_launches_total", "Launches that have failed.", "reason", failures),
      {
        ...family("tapdeck_tap_duration_seconds", "From a tap to the start of its media or its end."),
        type: "histogram",
        samples: tapTimes.samples(),
      },
      family("tapdeck_index_age_seconds", "Time since the last run of the media index.", "", [
        ...(lastRun === undefined ? [] : [["", (now() - lastRun.endMs) / 1000] as const]),
      ]),
      family("tapdeck_index_duration_seconds", "Duration of that run.", "", [
        ...(lastRun === undefined ? [] : [["", lastRun.seconds] as const]),
      ]),
    ],
    [Symbol.dispose]() {
      for (const one of listening) one[Symbol.dispose]();
    },
  };
}

function countOne(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** The fields that `running` and `launch.finished` of a launch have in common. */
function launchOf({ time, uid, text }: Pick<Running | LaunchFinished, "time" | "uid" | "text">): string {
  return JSON.stringify([time, uid, text]);
}

function createHistogram(bounds: readonly number[]) {
  const counts = bounds.map(() => 0);
  let all = 0;
  let sum = 0;
  return {
    add(value: number) {
      all += 1;
      sum += value;
      const place = bounds.findIndex((bound) => value <= bound);
      if (place >= 0) counts[place] = (counts[place] ?? 0) + 1;
    },
    /** Each bucket also counts the values of those below it. */
    samples(): readonly Sample[] {
      let below = 0;
      const buckets = bounds.map((bound, place): Sample => {
        below += counts[place] ?? 0;
        return { suffix: "_bucket", labels: { le: String(bound) }, value: below };
      });
      return [
        ...buckets,
        { suffix: "_bucket", labels: { le: "+Inf" }, value: all },
        { suffix: "_sum", value: sum },
        { suffix: "_count", value: all },
      ];
    },
  };
}

async function statesOf({ services, dataFolder, site }: MetricsParts): Promise<readonly Family[]> {
  const [health, device] = await Promise.all([services.health(), services.device()]);
  const { version, platform } = services;
  const { totalMedia = 0, indexing } = services.media.status();
  const step = device.updating?.step ?? "none";
  const codes = new Map<string, number>();
  for (const { faults = [] } of health.checks) for (const { code } of faults) countOne(codes, code);
  const info = { version, platform, board: device.board ?? "", slot: device.slot ?? "", site: site() };
  const disks = device.disks.map(({ folders, ...sizes }, place) => {
    return { ...sizes, name: folders.includes(dataFolder) ? "data" : `media${place}` };
  });
  return [
    {
      ...family("tapdeck_info", "The version, and on the image the board and the slot."),
      samples: [{ labels: info, value: 1 }],
    },
    family("tapdeck_update_available", "Whether the server of updates offers another version.", "", [
      ...(device.updates === undefined ? [] : [["", Number(device.updates.latest !== undefined)] as const]),
    ]),
    family("tapdeck_index_files", "Files in the media index.", "", [["", totalMedia]]),
    family("tapdeck_index_running", "Whether the media are being indexed.", "", [["", Number(indexing)]]),
    family(
      "tapdeck_reader_connected",
      "Whether the reader is open.",
      "reader",
      services.readers().map(({ readerId, connected }) => [readerId, Number(connected)]),
    ),
    family("tapdeck_reader_resets_total", "Readers that were reset, or opened again after a fault.", "", [
      ["", readerFaults.resets],
    ]),
    family("tapdeck_reader_bad_frames_total", "Frames and lines of readers that were damaged.", "", [
      ["", readerFaults.badFrames],
    ]),
    family(
      "tapdeck_fault",
      "Whether a check of health has failed.",
      "check",
      health.checks.map(({ name, ok }) => [name, Number(!ok)]),
    ),
    family(
      "tapdeck_certificate_end_time_seconds",
      "When a certificate ends that somebody must renew, in seconds since 1970.",
      "certificate",
      (health.certificates ?? []).map(({ of, ends }) => [of, Date.parse(ends) / 1000]),
    ),
    family("tapdeck_faults", "Faults of health with this code.", "code", codes),
    family(
      "tapdeck_disk_free_bytes",
      "Free space of a disk.",
      "disk",
      disks.map((disk) => [disk.name, disk.freeBytes]),
    ),
    family(
      "tapdeck_disk_size_bytes",
      "Size of a disk.",
      "disk",
      disks.map((disk) => [disk.name, disk.totalBytes]),
    ),
    family("tapdeck_temperature_celsius", "Temperature of the processor.", "", [
      ...(device.temperature === undefined ? [] : [["", device.temperature] as const]),
    ]),
    family("tapdeck_memory_free_bytes", "Free memory of the device.", "", [
      ["", device.memory.availableBytes],
    ]),
    family("tapdeck_memory_size_bytes", "Memory of the device.", "", [["", device.memory.totalBytes]]),
    family(
      "tapdeck_wifi_signal_dbm",
      "Signal of the Wi-Fi.",
      "interface",
      device.networks.flatMap(({ name, signalDbm }) =>
        signalDbm === undefined ? [] : [[name, signalDbm] as const],
      ),
    ),
    family(
      "tapdeck_update_step",
      "The step of an update: 1 for the present one.",
      "step",
      ["none", ...updateState.entries.step.options].map((name) => [name, Number(name === step)]),
    ),
  ];
}

/** A smaller difference is the granularity of the clocks, or a clock that a time server slews. */
const clockStepSeconds = 10;

/**
 * The start in seconds since 1970. Rules count its changes as starts, so it stays until the clock is set: a Raspberry Pi without a battery
 * starts with an old time.
 */
function startOfProcess(): () => number {
  let kept = Number.NEGATIVE_INFINITY;
  return () => {
    const start = Math.round(Date.now() / 1000 - process.uptime());
    if (Math.abs(start - kept) > clockStepSeconds) kept = start;
    return kept;
  };
}

/** These are the names that client libraries of Prometheus use for each process. */
async function processFamilies({ descriptors }: MetricsParts, started: number): Promise<readonly Family[]> {
  const { user, system } = process.cpuUsage();
  const shares = await readFile("/proc/self/smaps_rollup", "utf8").catch(() => "");
  const ownKib = [...shares.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)].map(([, kib]) => Number(kib));
  const only = (name: string, help: string, value: number) => family(name, help, "", [["", value]]);
  return [
    only("process_cpu_seconds_total", "Processor time of the service.", (user + system) / 1e6),
    only("process_start_time_seconds", "Start of the service, in seconds since 1970.", started),
    only("process_resident_memory_bytes", "Memory of the service.", process.memoryUsage.rss()),
    only(
      "process_private_memory_bytes",
      "Memory of the service that no other process shares.",
      ownKib.reduce((sum, kib) => sum + kib, 0) * 1024,
    ),
    only("process_open_fds", "Open descriptors.", descriptors.count()),
    only("process_max_fds", "Descriptors that may be open.", descriptors.limit),
  ];
}

interface Sample {
  /** The name of the sample is the name of the family, followed by this text. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Family {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** A family with at most one label; a name that ends in `_total` is that of a counter. */
function family(
  name: string,
  help: string,
  label = "",
  values: Iterable<readonly [label: string, value: number]> = [],
): Family {
  const samples = [...values].map(([of, value]) => ({ labels: label === "" ? {} : { [label]: of }, value }));
  return { name, help, type: name.endsWith("_total") ? "counter" : "gauge", samples };
}

/** A family without samples is left out. */
function familyText({ name, type, help, samples }: Family): string {
  if (samples.length === 0) return "";
  const lines = samples.map(({ suffix = "", labels = {}, value }) => {
    const all = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    const shown = Number.isFinite(value) ? String(value) : "+Inf";
    return `${name}${suffix}${all.length === 0 ? "" : `{${all.join(",")}}`} ${shown}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
