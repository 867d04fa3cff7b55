/** A world for script commands that notes all requests, and transcripts of them. */
import { sleep } from "../../src/core/clock.ts";
import { ServiceError } from "../../src/core/errors.ts";
import type { InputStep } from "../../src/core/operating-system.ts";
import type { ScriptOrigin, ScriptPorts } from "../../src/script/command.ts";
import type { Facts } from "../../src/script/expression.ts";
import { readyScript } from "../../src/script/run-script.ts";
import { createManualClock } from "./manual-clock.ts";

export const quietFacts: Facts = {
  platform: "linux",
  version: "1.10.0",
  scan_mode: "tap",
  "device.hostname": "deck",
  "device.os": "linux",
  "device.arch": "arm64",
  "last_scanned.id": "04aabb",
  "last_scanned.value": "**execute:x||[[platform]]",
  "last_scanned.data": "",
  media_playing: false,
  "active_media.launcher_id": "",
  "active_media.system_id": "",
  "active_media.system_name": "",
  "active_media.path": "",
  "active_media.name": "",
  "launching.path": "",
  "launching.system_id": "",
  "launching.launcher_id": "",
};

export const playingFacts: Facts = {
  ...quietFacts,
  media_playing: true,
  "active_media.launcher_id": "mpv",
  "active_media.system_id": "Music",
  "active_media.system_name": "Music",
  "active_media.path": "/media/Music/A Song.mp3",
  "active_media.name": "A Song",
};

/** The world notes every request. A path that contains "missing" cannot be launched. */
export function scriptWorld({ facts = quietFacts, bare = false } = {}) {
  const clock = createManualClock();
  const asked: string[] = [];
  const found = async (what: string, wanted: object) => {
    asked.push(`${what} ${JSON.stringify(wanted)}`);
    return `found by ${what}`;
  };
  const ports: ScriptPorts = {
    facts: () => facts,
    async launch(path, how) {
      if (path.includes("missing")) throw new ServiceError("failed", `there is no file ${path}`);
      asked.push(`launch ${path}${Object.keys(how).length === 0 ? "" : ` ${JSON.stringify(how)}`}`);
    },
    async launchSystem(system) {
      asked.push(`launch system ${system}`);
    },
    async launchLast(how) {
      asked.push(`launch last${Object.keys(how).length === 0 ? "" : ` ${JSON.stringify(how)}`}`);
    },
    async stop() {
      asked.push("stop");
    },
    async delay(ms, signal) {
      asked.push(`delay ${ms}`);
      await sleep(clock, ms, signal);
    },
    echo: (text) => asked.push(`echo ${text}`),
    async request({ method, url, content }) {
      asked.push(`${method} ${url}${content === undefined ? "" : ` ${JSON.stringify(content)}`}`);
    },
    async execute(argv) {
      asked.push(`execute ${JSON.stringify(argv)}`);
    },
    async input(kind, steps) {
      asked.push(`${kind} ${steps.map(shownStep).join(" ")}`);
    },
    sleep: (ms) => asked.push(`sleep ${ms}`),
    async shutdown() {
      asked.push("shutdown");
    },
    async pair() {
      asked.push("pair");
    },
    async screenshot() {
      asked.push("screenshot");
    },
    async write(text) {
      asked.push(`write ${text}`);
    },
    playlist: {
      play: async (path, how) =>
        void asked.push(`playlist play ${path ?? "what is loaded"} ${JSON.stringify(how)}`),
      load: async (path, how) => void asked.push(`playlist load ${path} ${JSON.stringify(how)}`),
      open: async (path, how) =>
        void asked.push(`playlist open ${path ?? "what is loaded"} ${JSON.stringify(how)}`),
      stop: async () => void asked.push("playlist stop"),
      pause: async () => void asked.push("playlist pause"),
      move: async (by) => void asked.push(`playlist move ${by}`),
      goTo: async (place) => void asked.push(`playlist go to ${place}`),
    },
    async mediaReady() {
      asked.push("media ready");
    },
    async control(action) {
      asked.push(`control ${JSON.stringify(action)}`);
    },
    async changeVolume(change) {
      asked.push(`volume ${JSON.stringify(change)}`);
    },
    ...(bare
      ? {}
      : {
          index: {
            title: async (wanted) => ({ path: await found("title", wanted) }),
            search: (query) => found("search", query),
            random: (sources) => found("random", sources),
          },
        }),
  };
  return { clock, asked, ports };
}

/** A step as text: `+30` means that a key goes down, `-30` that it goes up, and `40ms` is a wait. */
function shownStep(step: InputStep): string {
  if (step.kind === "wait") return `${step.ms}ms`;
  return step.codes.map((code) => `${step.kind === "down" ? "+" : "-"}${code}`).join(" ");
}

export interface Transcript {
  readonly script: string;
  /**
   * The settings of a script: `playing`; `trusted` or `untrusted`, otherwise the script is on a card on a reader; `bare`
   * for no index.
   */
  readonly settings: readonly string[];
  readonly expected: readonly string[];
}

/**
 * Reads transcripts: `~` settings of the next script, `>` the script, `=` a request to the world, `!` the refusal, `#`
 * why. No wait takes time.
 */
export function readTranscripts(text: string): readonly Transcript[] {
  const all: { script: string; settings: string[]; expected: string[] }[] = [];
  let settings: string[] = [];
  for (const line of text.split("\n")) {
    const rest = line.slice(2);
    if (line.startsWith("~ ")) settings = rest.split(" ");
    else if (line.startsWith("> ")) {
      all.push({ script: rest, settings, expected: [] });
      settings = [];
    } else if (/^[=!] /.test(line)) all.at(-1)?.expected.push(line);
    else if (line !== "" && !line.startsWith("#")) throw new Error(`not a line of a transcript: ${line}`);
  }
  return all;
}

/** The origin of a script: a card on a reader of the device, unless the transcript says otherwise. */
function originOf(settings: readonly string[]): ScriptOrigin {
  const origins = ["untrusted", "trusted"] as const;
  return origins.find((origin) => settings.includes(origin)) ?? "reader";
}

/** The `=` and `!` lines for a script. */
export async function play({ script, settings }: Omit<Transcript, "expected">): Promise<readonly string[]> {
  const { asked, ports } = scriptWorld({
    facts: settings.includes("playing") ? playingFacts : quietFacts,
    bare: settings.includes("bare"),
  });
  const quick: ScriptPorts = { ...ports, delay: async (ms) => void asked.push(`delay ${ms}`) };
  const refusal = await Promise.resolve()
    .then(() => readyScript(script, originOf(settings)).run(quick, new AbortController().signal))
    .then(
      () => [],
      (error) => [`! ${error instanceof ServiceError ? error.code : "INTERNAL"}: ${error.message}`],
    );
  return [...asked.map((line) => `= ${line}`), ...refusal];
}
