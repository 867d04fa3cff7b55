/**
 * The messages of players: bytes with any division, noise, endless lines, and no answer at all.
 * Covers: src/players.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { sleep, systemClock } from "../../../src/core/clock.ts";
import { mediaMsMax, playerBytesASecondMax, playerRequestsMax } from "../../../src/core/limits.ts";
import { startMpv } from "../../../src/players/mpv.ts";
import { cutLines, messageIn } from "../../../src/players/mpv-line.ts";
import type { PlayerOrder } from "../../../src/players/player.ts";
import { startRetroArch } from "../../../src/players/retroarch.ts";
import { openRetroArchLine, statusIn } from "../../../src/players/retroarch-line.ts";
import { spawnPlayer } from "../../../src/system/process.ts";
import { lastLines } from "../../../src/system/stderr-tail.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

function linesOf(bytesMax: number, ...chunks: readonly Uint8Array[]): readonly string[] {
  const lines: string[] = [];
  const cut = cutLines(bytesMax, (line) => lines.push(line));
  for (const chunk of chunks) {
    const used = chunk.slice();
    cut(used);
    used.fill(0);
  }
  return lines;
}

test("every split of a text gives the same lines", () => {
  const whole = bytesOf('{"event":"idle"}\n\n{"data":"p\u00e9"}\r\nrest');
  const lines = linesOf(100, whole);
  expect(lines).toEqual(['{"event":"idle"}', "", '{"data":"p\u00e9"}\r']);
  for (let cut = 0; cut <= whole.length; cut++)
    expect(linesOf(100, whole.subarray(0, cut), whole.subarray(cut))).toEqual(lines);
});

test("a line that is too long is left out, and the next one is whole", () => {
  expect(linesOf(5, bytesOf("12345\n"), bytesOf("123"), bytesOf("456\nabc\n"))).toEqual(["12345", "abc"]);
});

test("bytes without a line's end are not kept without end", () => {
  const lines: string[] = [];
  const cut = cutLines(64, (line) => lines.push(line));
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < 10_000; index++) cut(new Uint8Array(64 * 1024).fill(65));
  cut(bytesOf("\nwhole\n"));
  expect(lines).toEqual(["whole"]);
  Bun.gc(true);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
});

test("a message is an answer, an event or noise, and nothing throws", () => {
  expect(messageIn('{"request_id":3,"error":"success","data":1.5}')).toEqual({
    kind: "answer",
    id: 3,
    error: "success",
    data: 1.5,
  });
  expect(messageIn('{"event":"end-file","reason":"eof"}')).toMatchObject({ kind: "event", name: "end-file" });
  for (const noise of ["", "null", "7", "[]", "{", '{"event":1}', '{"request_id":"3","error":"success"}'])
    expect(messageIn(noise)).toEqual({ kind: "noise" });
  const deep = `${"[".repeat(1000)}${"]".repeat(1000)}`;
  expect(messageIn(`{"event":"idle","data":${deep}}`).kind).toBe("noise");
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => messageIn(text).kind !== undefined));
});

const behind = "GET_CONFIG_PARAM ask7 unsupported";

test.each([
  [`${behind}GET_STATUS PLAYING nes,Game,crc32=bcb5d3f\n`, "playing"],
  [`${behind}\nGET_STATUS PAUSED super_nes,A, B,crc32=0\n`, "paused"],
  [`GET_STATUS PLAYING x${behind} a core says something\nGET_STATUS CONTENTLESS`, "contentless"],
  ["GET_CONFIG_PARAM ask6 unsupportedGET_STATUS PLAYING nes,Game,crc32=0\n", undefined],
  ["GET_CONFIG_PARAM ask77 unsupportedGET_STATUS PLAYING nes,Game,crc32=0\n", undefined],
  ["GET_STATUS PLAYING nes,Game,crc32=0\n", undefined],
  [`GET_STATUS PAUSED ${behind}GET_STATUS`, undefined],
  [`${behind}1.14.0\n`, undefined],
  ["\0\0", undefined],
] as const)("behind question 7, %p says %p", (text, status) => {
  expect(statusIn(text, 7)).toBe(status);
});

/** A shell script as RetroArch, and the line to it. */
function talkWith(script: string, ...words: readonly string[]) {
  const player = spawnPlayer(["/bin/sh", "-c", script, ...words], { hasTalk: true });
  return {
    player,
    line: openRetroArchLine(player, systemClock),
    [Symbol.asyncDispose]: async () => void (await player.stop(1000)),
  };
}

test("a RetroArch that does not listen yet has no answer, and is asked one thing at a time", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-lines-"));
  const [ready, heard] = [join(folder, "ready"), join(folder, "heard")];
  const script = 'until [ -e "$0" ]; do sleep 0.01; done; exec cat >"$1"';
  await using talk = talkWith(script, ready, heard);
  const { line } = talk;
  const asked = await Promise.all([line.status(5), line.status(5), line.status(5)]);
  expect([...asked, await line.status(5)]).toEqual([undefined, undefined, undefined, undefined]);
  line.say("RESET");
  await writeFile(ready, "");
  const lines = () => readFileSync(heard, "utf8").split("\n");
  await eventually(() => expect(lines()).toContain("RESET"));
  expect(lines().filter((one) => !one.endsWith(" -") && one !== "")).toEqual([
    "GET_CONFIG_PARAM ask1",
    "GET_STATUS",
    "RESET",
  ]);
  await rm(folder, { recursive: true });
});

test("an answer counts only behind its own question, however it is cut", async () => {
  // A leftover of an earlier question in its buffer comes first.
  const answers = [
    "noiseGET_CONFIG_PARAM ask0 unsupportedGET_STATUS PLAYING nes,A,crc32=0\n",
    "GET_CONFIG_PARAM - unsupported".repeat(300),
    "GET_STATUS PLAYING nes,A,crc32=0\nGET_CONFIG_PARAM ask1 unsupportedGET_STATUS PAUSED nes,A,crc32=0\n",
    "GET_CONFIG_PARAM - unsupported".repeat(300),
  ].join("");
  for (const bytes of [1, 7, 64, 100, 4096]) {
    const output = new ReadableStream<Uint8Array>({
      start(stream) {
        for (let at = 0; at < answers.length; at += bytes)
          stream.enqueue(bytesOf(answers.slice(at, at + bytes)));
        stream.close();
      },
    });
    const said: string[] = [];
    const talk = { output, say: (text: string) => void said.push(text), send: async () => true, end() {} };
    const line = openRetroArchLine({ pid: process.pid, talk }, systemClock);
    expect(await line.status(30_000)).toBe("paused");
    expect(said.length).toBe(1);
  }
});

test("a RetroArch that has ended gets no command, and that is no fault", async () => {
  await using talk = talkWith("exit 3");
  await talk.player.exited;
  talk.line.say("RESET");
  expect(await talk.line.status(5)).toBeUndefined();
  talk.line.say("QUIT");
});

test("last lines are those that say something, few and short, without what only terminals understand", () => {
  expect(lastLines("")).toBe("");
  expect(lastLines("\x1b[1;31mred\x1b[0m\r\n\n \n a\tb \0")).toBe("red\na\tb");
  expect(lastLines("1\n2\n3\n4\n5\n6")).toBe("3\n4\n5\n6");
  expect(lastLines("x".repeat(1000)).length).toBeLessThan(300);
});

/** A shell script as mpv: its end of the line is descriptor 3. */
const order = (script: string): PlayerOrder => ({
  kind: "mpv",
  argv: ["/bin/sh", "-c", script, "mpv"],
  optionsAt: 4,
});

const onPause = () => {};

test("an mpv that never answers holds up nobody, and takes no more than so many questions", async () => {
  const clock = createManualClock();
  const player = startMpv(order("exec sleep 600"), { clock, volume: undefined, onPause });
  try {
    const state = player.state();
    const refused = player.control({ kind: "pause" }).catch((error) => error.message);
    clock.advance(2000);
    expect(await state).toEqual({ playbackState: "loading" });
    expect(await refused).toBe("mpv does not answer");
    const asked = Array.from({ length: playerRequestsMax + 1 }, () => player.control({ kind: "pause" }));
    const last = asked.at(-1)?.catch((error) => error.message);
    for (const one of asked.slice(0, -1)) one.catch(() => {});
    expect(await last).toBe("mpv does not answer");
  } finally {
    await player.process.stop(1000);
  }
  expect(await player.control({ kind: "pause" }).catch((error) => error.message)).toBe("mpv has ended");
});

test("an mpv that talks nonsense is not believed, and one that hangs up has ended", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-lines-"));
  const said = join(folder, "said");
  const script = `printf 'noise\\n{"event":7}\\n{"request_id":999,"error":"success"}\\n{"event":"file-loaded"}\\n' >&3; cat <&3 >${said} & exec 3>&-; exec sleep 600`;
  const player = startMpv(order(script), { clock: systemClock, volume: undefined, onPause });
  try {
    await player.ready;
    await eventually(async () =>
      expect(
        await Bun.file(said)
          .text()
          .catch(() => ""),
      ).toContain("observe_property"),
    );
    expect(await player.state()).toEqual({ playbackState: "playing" });
  } finally {
    await player.process.stop(1000);
    await rm(folder, { recursive: true });
  }
});

test("the owner's ceiling holds for the volume of mpv, from its start on", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-lines-"));
  const said = join(folder, "said");
  // Answers every request by 58, and records its commands and its arguments.
  const script = `echo "$*" >${said}; while read -r line <&3; do
    echo "$line" >>${said}
    id=\${line##*:}
    echo "{\\"request_id\\":\${id%\\}},\\"error\\":\\"success\\",\\"data\\":58}" >&3
  done`;
  const player = startMpv(order(script), { clock: systemClock, volume: 60, onPause });
  try {
    expect(await player.changeVolume?.({ kind: "by", percent: 5 }, 60)).toBe(60);
    expect(await player.changeVolume?.({ kind: "to", percent: 90 }, 60)).toBe(60);
    expect(await player.changeVolume?.({ kind: "by", percent: -8 }, 60)).toBe(50);
    const text = await Bun.file(said).text();
    expect(text).toMatch(/^--access-references=no .*--input-ipc-client=fd:\/\/3 --volume=60\n/);
    const volumes = [...text.matchAll(/"set_property","volume",(\d+)/g)].map(([, percent]) =>
      Number(percent),
    );
    expect(volumes).toEqual([60, 60, 50]);
  } finally {
    await player.process.stop(1000);
    await rm(folder, { recursive: true });
  }
});

test("mpv delays the picture while sound is late, from its start on, and not otherwise", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-lines-"));
  const said = join(folder, "said");
  const script = `echo "$*" >${said}; while read -r line <&3; do
    echo "$line" >>${said}
    id=\${line##*:}
    echo "{\\"request_id\\":\${id%\\}},\\"error\\":\\"success\\",\\"data\\":null}" >&3
  done`;
  try {
    for (const [latenessMs, words] of [
      [0, []],
      [260, ["--audio-delay=-0.26"]],
    ] as const) {
      const player = startMpv(order(script), { clock: systemClock, volume: undefined, latenessMs, onPause });
      await player.changeLateness?.(90);
      await player.changeLateness?.(0);
      const text = await Bun.file(said).text();
      expect(text.match(/--audio-delay=\S+/g) ?? []).toEqual([...words]);
      const set = [...text.matchAll(/"set_property","audio-delay",(-?[\d.]+)/g)].map(([, delay]) =>
        Number(delay),
      );
      expect(set).toEqual([-0.09, 0]);
      await player.process.stop(1000);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("mpv starts at a position, and its last report stays known after the end, but not for another file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-lines-"));
  const said = join(folder, "said");
  const event = (name: string, facts = "") => `printf '{"event":"${name}"${facts}}\n' >&3`;
  const property = (name: string, data: string) =>
    event("property-change", `,"name":"${name}"${data === "" ? "" : `,"data":${data}`}`);
  // Answers every request by 58. A seek ends the file, and the next file has no position of its own.
  const script = `echo "$*" >${said}; ${event("file-loaded")}; ${property("duration", "700")}
  ${property("pause", "true")}; ${event("playback-restart")}
  while read -r line <&3; do
    id=\${line##*:}
    echo "{\\"request_id\\":\${id%\\}},\\"error\\":\\"success\\",\\"data\\":58}" >&3
    case $line in
      *'"seek"'*) ${event("seek")}; ${event("end-file", ',"reason":"eof"')}; ${property("duration", "")} ;;
      *playlist-next*) ${event("file-loaded")} ;;
    esac
  done`;
  const started = { ...order(script), startMs: 300_500 };
  const player = startMpv(started, { clock: systemClock, volume: undefined, onPause });
  try {
    const progress = { positionMs: 58_000, durationMs: 700_000, isOver: false };
    await eventually(() => expect(player.progress?.()).toEqual(progress));
    expect(await Bun.file(said).text()).toContain(" --start=300.500");
    await player.control({ kind: "seek", to: { kind: "to", ms: 1 } });
    await eventually(() => expect(player.progress?.()).toEqual({ ...progress, isOver: true }));
    await player.control({ kind: "next" });
    await eventually(() => expect(player.progress?.()).toBeUndefined());
  } finally {
    await player.process.stop(1000);
    await rm(folder, { recursive: true });
  }
});

test("a file states a length beyond all times, and no backup with its position can be restored", async () => {
  const script = `printf '{"event":"file-loaded"}\n{"event":"property-change","name":"duration","data":1e300}\n' >&3
  printf '{"event":"property-change","name":"pause","data":true}\n{"event":"playback-restart"}\n' >&3
  while read -r line <&3; do
    id=\${line##*:}
    echo "{\\"request_id\\":\${id%\\}},\\"error\\":\\"success\\",\\"data\\":1e300}" >&3
  done`;
  const player = startMpv(order(script), { clock: systemClock, volume: undefined, onPause });
  try {
    const progress = { positionMs: mediaMsMax, durationMs: mediaMsMax, isOver: false };
    await eventually(() => expect(player.progress?.()).toEqual(progress));
  } finally {
    await player.process.stop(1000);
  }
});

test("mpv that acknowledged a seek, and begins it late, is at the target of the seek", async () => {
  // Without a request to seek to a position, the player is at 58 s.
  const script = `printf '{"event":"file-loaded"}\n{"event":"property-change","name":"duration","data":700}\n' >&3
  printf '{"event":"property-change","name":"pause","data":true}\n{"event":"playback-restart"}\n' >&3
  while read -r line <&3; do
    id=\${line##*:}
    echo "{\\"request_id\\":\${id%\\}},\\"error\\":\\"success\\",\\"data\\":58}" >&3
  done`;
  const clock = createManualClock();
  const player = startMpv(order(script), { clock, volume: undefined, onPause });
  try {
    const isAt = (positionMs: number) =>
      eventually(() => expect(player.progress?.()).toMatchObject({ positionMs, durationMs: 700_000 }));
    await isAt(58_000);
    for (const [to, positionMs] of [
      [{ kind: "to", ms: 300_000 }, 300_000],
      [{ kind: "by", ms: -10_000 }, 290_000],
      [{ kind: "part", percent: 50 }, 350_000],
    ] as const) {
      const sought = player.control({ kind: "seek", to });
      await isAt(positionMs);
      clock.advance(250);
      await sought;
      expect(player.progress?.()).toMatchObject({ positionMs });
    }
  } finally {
    await player.process.stop(1000);
  }
});

test("a seek right after the start failed, because mpv was still opening the file", async () => {
  // mpv 0.35 refuses a seek until the file is open.
  const script = `opened=; printf '{"event":"start-file"}\\n' >&3; while read -r line <&3; do
    id=\${line##*:}; error=success
    case $line in *'"seek"'*) [ -n "$opened" ] || error='error running command' ;; esac
    echo "{\\"request_id\\":\${id%\\}},\\"error\\":\\"$error\\",\\"data\\":58}" >&3
    case $line in *'"set_property","volume"'*) opened=yes; printf '{"event":"file-loaded"}\n' >&3 ;; esac
  done`;
  const player = startMpv(order(script), { clock: systemClock, volume: undefined, onPause });
  try {
    const sought = player.control({ kind: "seek", to: { kind: "to", ms: 300_000 } });
    await Bun.sleep(50);
    await player.changeVolume?.({ kind: "to", percent: 40 }, 100);
    await sought;
    expect(player.progress?.()).toBeUndefined();
    expect(await player.state()).toMatchObject({ positionMs: 58_000 });
  } finally {
    await player.process.stop(1000);
  }
});

test("a flood of events from mpv waits in its socket, and its last event still arrives", async () => {
  const [seconds, lineBytes] = [4, 1024];
  const pause = (isPaused: boolean) =>
    `printf '{"event":"property-change","name":"pause","data":${isPaused}}\\n' >&3`;
  const event = `{"event":"idle","data":"${"x".repeat(lineBytes)}"}`;
  const flood = `yes '${event}' | head -n ${(seconds * playerBytesASecondMax) / lineBytes} >&3`;
  const changes: { isPaused: boolean; atMs: number }[] = [];
  const last = Promise.withResolvers<void>();
  const player = startMpv(order(`${pause(true)}; ${flood}; ${pause(false)}; exec sleep 600`), {
    clock: systemClock,
    volume: undefined,
    onPause(isPaused) {
      changes.push({ isPaused, atMs: performance.now() });
      if (!isPaused) last.resolve();
    },
  });
  try {
    await last.promise;
    expect(changes.map(({ isPaused }) => isPaused)).toEqual([true, false]);
    const [first = 0, second = 0] = changes.map(({ atMs }) => atMs);
    // The flood of the first second is read at once. The last piece, of less than a second, is read before its pause.
    expect(second - first).toBeGreaterThan(1000);
  } finally {
    await player.process.stop(1000);
  }
}, 30_000);

test("a folder in which RetroArch's settings cannot be written is a plain refusal, because a player may have filled it", () => {
  const order: PlayerOrder = {
    kind: "retroarch",
    argv: ["retroarch"],
    optionsAt: 1,
    saves: { folder: "/nonexistent", settings: "/nonexistent" },
  };
  const start = () => startRetroArch(order, { clock: systemClock, volume: undefined, onPause() {} });
  expect(start).toThrow("the settings for RetroArch cannot be written: there is no such file or folder");
});

/** A RetroArch that plays or pauses, answers at once, and writes the first word of each command into the file. */
const answeringRetroArch = (heard: string) => `now=PLAYING other=PAUSED; while read -r word rest; do
  case "$word $rest" in
    PAUSE_TOGGLE*) last=$now now=$other other=$last ;;
    "GET_CONFIG_PARAM -") continue ;;
    GET_CONFIG_PARAM*) printf 'GET_CONFIG_PARAM %s unsupported' "$rest" ;;
    GET_STATUS*) printf 'GET_STATUS %s nes,A,crc32=0\\n' "$now" ;;
  esac
  echo "$word" >>${heard}
done`;

test("a volume that comes with the answer to the last step is not lost, and each step is alone in its frame", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-lines-"));
  const heard = join(folder, "heard");
  const player = startRetroArch(
    { ...order(answeringRetroArch(heard)), kind: "retroarch" },
    { clock: systemClock, volume: 100, onPause },
  );
  const words = () => readFileSync(heard, "utf8").trim().split("\n");
  const count = (word: string) => words().filter((one) => one === word).length;
  const become = (percent: number) => player.changeVolume?.({ kind: "to", percent }, 100);
  const isDown = (steps: number) =>
    eventually(() => expect(count("VOLUME_DOWN") - count("VOLUME_UP")).toBe(steps));
  try {
    await player.ready;
    for (let answers = 0; answers < 5; answers++) {
      await become(100);
      await isDown(0);
      await sleep(systemClock, 100);
      // Two steps.
      await become(95);
      for (let answer = 0; answer < answers; answer++) await player.state();
      await become(50);
      // A gain of -6.02 dB is the step of -6.5 dB.
      await isDown(13);
    }
    const between = words()
      .join(" ")
      .split(/VOLUME_(?:UP|DOWN)/);
    const questions = between.slice(1, -1).map((part) => part.split("GET_STATUS").length - 1);
    expect(Math.min(...questions)).toBeGreaterThanOrEqual(2);
  } finally {
    await player.process.stop(1000);
    await rm(folder, { recursive: true });
  }
});

test("each pause of a game that went on at once added a loop that asks for its end", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-lines-"));
  const clock = createManualClock();
  const player = startRetroArch(
    { ...order(answeringRetroArch(join(folder, "heard"))), kind: "retroarch" },
    { clock, volume: undefined, onPause },
  );
  // Waits for the effect of a pause, which is looked for each 50 ms.
  const become = async (kind: "pause" | "resume") => {
    let isDone = false;
    const done = player.control({ kind }).then(() => {
      isDone = true;
    });
    await eventually(() => {
      clock.advance(10);
      return isDone;
    });
    await done;
  };
  try {
    await eventually(async () => (await player.state()).playbackState === "playing");
    for (let pauses = 0; pauses < 5; pauses++) {
      await become("pause");
      await become("resume");
    }
    await become("pause");
    await eventually(() => expect(clock.waiting()).toBe(1));
  } finally {
    await player.process.stop(1000);
    await rm(folder, { recursive: true });
  }
});

test.each([
  [{ rotation: 0, overscan: 0 }, [], ""],
  [{ rotation: 90, overscan: 0 }, ["--video-rotate=90"], 'video_rotation = "3"'],
  [{ rotation: 180, overscan: 0 }, ["--video-rotate=180"], 'video_rotation = "2"'],
  [
    { rotation: 270, overscan: 7 },
    [
      "--video-rotate=270",
      ...["left", "right", "top", "bottom"].map((side) => `--video-margin-ratio-${side}=0.07`),
      "--sub-use-margins=no",
    ],
    'video_rotation = "1"',
  ],
] as const)(
  "players lie on the screen as the settings %p say, and as they like without",
  async (view, options, setting) => {
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-lines-"));
    const said = join(folder, "said");
    const parts = { clock: systemClock, volume: undefined, view, onPause };
    // The program is mpv first, and then RetroArch, whose settings are in a file.
    const script = `case "$*" in *--appendconfig=*) cat "\${1#*=}" >${said}.new ;; *) printf '%s\\n' "$@" >${said}.new ;; esac; mv ${said}.new ${said}; exec sleep 600`;
    try {
      const film = startMpv(order(script), parts);
      await eventually(async () => expect(await Bun.file(said).exists()).toBe(true));
      const words = (await Bun.file(said).text()).split("\n");
      expect(words.filter((word) => /rotate|margin/.test(word))).toEqual([...options]);
      await film.process.stop(1000);
      await rm(said);
      const game = startRetroArch({ ...order(script), kind: "retroarch" }, parts);
      await eventually(async () => expect(await Bun.file(said).exists()).toBe(true));
      const settings = (await Bun.file(said).text()).split("\n");
      expect(settings.filter((line) => line.startsWith("video_"))).toEqual(setting === "" ? [] : [setting]);
      await game.process.stop(1000);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);
