/** What players say to us: bytes that may be cut anywhere, noise, lines without end, and no answer at all. */
import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { systemClock } from "../../src/core/clock.ts";
import { playerRequestsMax } from "../../src/core/limits.ts";
import type { PlayerOrder } from "../../src/players/contract.ts";
import { cutLines } from "../../src/players/lines.ts";
import { startMpv } from "../../src/players/mpv.ts";
import { messageIn } from "../../src/players/mpv-line.ts";
import { openRetroArchLine, statusIn } from "../../src/players/retroarch-line.ts";
import { lastLines } from "../../src/system/last-words.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { eventually } from "../helpers/processes.ts";

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
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => messageIn(text).kind !== undefined));
});

test.each([
  ["GET_STATUS PLAYING nes,Game,crc32=bcb5d3f\n", "playing"],
  ["GET_STATUS PAUSED super_nes,A, B,crc32=0\n", "paused"],
  ["GET_STATUS CONTENTLESS", "contentless"],
  ["GET_STATUS", undefined],
  ["GET_STATUS PLAYINGS", undefined],
  ["1.14.0\n", undefined],
  ["\0\0", undefined],
] as const)("the datagram %p says %p", (datagram, status) => {
  expect(statusIn(datagram)).toBe(status);
});

test("a RetroArch that does not listen yet has no answer, however often it is asked", async () => {
  const place = await Bun.udpSocket({ hostname: "127.0.0.1", port: 0 });
  const { port } = place;
  place.close();
  const line = openRetroArchLine(port, systemClock);
  try {
    const asked = await Promise.all([line.status(5), line.status(5), line.status(5)]);
    expect(asked).toEqual([undefined, undefined, undefined]);
    const heard: string[] = [];
    const retroArch = await Bun.udpSocket({
      hostname: "127.0.0.1",
      port,
      socket: { data: (_socket, datagram) => void heard.push(datagram.toString()) },
    });
    await line.say("RESET");
    await eventually(() => heard.length > 0);
    expect(heard).toEqual(["RESET"]);
    retroArch.close();
  } finally {
    line.close();
  }
});

test("last lines are those that say something, few and short, without what only terminals understand", () => {
  expect(lastLines("")).toBe("");
  expect(lastLines("\x1b[1;31mred\x1b[0m\r\n\n \n a\tb \0")).toBe("red\na\tb");
  expect(lastLines("1\n2\n3\n4\n5\n6")).toBe("3\n4\n5\n6");
  expect(lastLines("x".repeat(1000)).length).toBeLessThan(300);
});

/** A program in the place of mpv, in the shell's words: its end of the line is descriptor 3. */
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
      (
        await Bun.file(said)
          .text()
          .catch(() => "")
      ).includes("observe_property"),
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
  // Answers everything by 58, and notes what it was asked and what it was started with.
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
