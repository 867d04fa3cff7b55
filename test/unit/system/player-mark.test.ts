/** The mark of players, and the holders of sockets, in a folder that looks like the kernel's. */
import { expect, test } from "bun:test";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ordinaryProcessMsMax } from "../../../src/core/limits.ts";
import { hasMark, holdersOf, markOf } from "../../../src/system/player-mark.ts";

const isRoot = process.getuid?.() === 0;
const user = process.getuid?.() ?? -1;

/** The lines of proc(5), `limits`, around that of file locks. */
const limits = (
  soft: string,
  hard = soft,
) => `Limit                     Soft Limit           Hard Limit           Units     
Max address space         unlimited            unlimited            bytes     
Max file locks            ${soft.padEnd(20)} ${hard.padEnd(20)} locks     
Max pending signals       0                    0                    signals   
`;
const ofPlayer = limits("0");
const ofOther = limits("unlimited");

interface Fake {
  readonly limits?: string;
  /** Inodes of sockets; undefined for a process that does not show its descriptors. */
  readonly sockets: readonly number[] | undefined;
  readonly state?: string;
  readonly uid?: number;
}

const statusOf = (uid: number) => `Name:\tx\nUid:\t${uid}\t${uid}\t${uid}\t${uid}\nGid:\t0\t0\t0\t0\n`;

async function makeProcesses(all: Readonly<Record<string, Fake>>) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-proc-"));
  for (const [pid, { limits: text = ofOther, sockets, state = "S", uid = user }] of Object.entries(all)) {
    await mkdir(join(folder, pid));
    await writeFile(join(folder, pid, "limits"), text);
    await writeFile(join(folder, pid, "stat"), `${pid} (a ) Z) ${state} 1 1 1`);
    await writeFile(join(folder, pid, "status"), statusOf(uid));
    if (sockets === undefined) continue;
    await mkdir(join(folder, pid, "fd"));
    await symlink("/dev/null", join(folder, pid, "fd/0"));
    for (const [nth, inode] of sockets.entries())
      await symlink(`socket:[${inode}]`, join(folder, pid, "fd", String(nth + 1)));
  }
  await mkdir(join(folder, "net"));
  return {
    folder,
    holders: async (...inodes: readonly string[]) => {
      const { byPlayers, byOthers, isComplete } = await holdersOf(new Set(inodes), user, folder);
      return { byPlayers: [...byPlayers], byOthers: [...byOthers], isComplete };
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

test("a mark is a limit of file locks of 0 that cannot be raised, and nothing else", () => {
  expect(hasMark(ofPlayer)).toBe(true);
  for (const text of [ofOther, limits("0", "unlimited"), limits("0", "1"), limits("10"), ""])
    expect([text, hasMark(text)]).toEqual([text, false]);
});

test("this process has no mark, and the number of no process belongs to none", () => {
  expect(markOf(process.pid)).toBe("other");
  expect(markOf(0)).toBe("ended");
});

test("a process of which the kernel shows no limits is hidden, and one that has just ended is over", async () => {
  await using processes = await makeProcesses({ 7: { limits: "", sockets: [] } });
  expect(markOf(7, processes.folder)).toBe("ended");
  // A folder cannot be read as a file.
  await mkdir(join(processes.folder, "8/limits"), { recursive: true });
  await writeFile(join(processes.folder, "8/status"), statusOf(user));
  expect(markOf(8, processes.folder)).toBe("hidden");
  expect(await processes.holders("1")).toMatchObject({ isComplete: false });
});

test("a socket of an ordinary process is found, and a socket of nobody is not", async () => {
  await using processes = await makeProcesses({ 7: { sockets: [81, 82] }, 8: { sockets: [83] } });
  expect(await processes.holders("82")).toEqual({ byPlayers: [], byOthers: ["82"], isComplete: true });
  expect(await processes.holders("8")).toEqual({ byPlayers: [], byOthers: [], isComplete: true });
});

test("a player that shares a socket with an ordinary process is found, whichever of them is newer", async () => {
  for (const [player, other] of [
    ["7", "8"],
    ["8", "7"],
  ] as const) {
    const all = { [player]: { limits: ofPlayer, sockets: [81] }, [other]: { sockets: [81] } };
    await using processes = await makeProcesses(all);
    expect(await processes.holders("81")).toEqual({ byPlayers: ["81"], byOthers: ["81"], isComplete: true });
  }
});

test("a player that hides its descriptors may hold every socket, until it has ended", async () => {
  const other = { sockets: [81] };
  for (const [state, isComplete] of [
    ["S", false],
    ["Z", true],
  ] as const) {
    await using processes = await makeProcesses({
      7: { limits: ofPlayer, sockets: undefined, state },
      8: other,
    });
    expect(await processes.holders("81")).toMatchObject({ isComplete });
  }
});

test("a search right after another one looks into new processes only, and a moment later into all", async () => {
  await using processes = await makeProcesses({ 7: { sockets: [] }, 8: { sockets: [81] } });
  let nowMs = 0;
  const look = async () => {
    const { byPlayers, isComplete } = await holdersOf(new Set(["81"]), user, processes.folder, () => nowMs);
    return { players: [...byPlayers], isComplete };
  };
  expect(await look()).toEqual({ players: [], isComplete: true });
  // From now on process 7 cannot be read, so another look at it would make the result incomplete.
  await rm(join(processes.folder, "7/limits"));
  await mkdir(join(processes.folder, "7/limits"));
  nowMs = ordinaryProcessMsMax;
  expect(await look()).toEqual({ players: [], isComplete: true });
  await mkdir(join(processes.folder, "9/fd"), { recursive: true });
  await writeFile(join(processes.folder, "9/limits"), ofPlayer);
  await symlink("socket:[81]", join(processes.folder, "9/fd/1"));
  expect(await look()).toEqual({ players: ["81"], isComplete: true });
  nowMs++;
  expect((await look()).isComplete).toBe(false);
});

test("a player of another user that hides its descriptors makes no caller uncertain", async () => {
  const player = { limits: ofPlayer, sockets: undefined, uid: 54321 };
  await using processes = await makeProcesses({ 7: player, 8: { sockets: [81] } });
  const { isComplete } = await holdersOf(new Set(["81"]), 12345, processes.folder);
  expect(isComplete).toBe(true);
  expect(await holdersOf(new Set(["81"]), 54321, processes.folder)).toMatchObject({ isComplete: false });
});

test("an ordinary process that hides its descriptors is no player, but its sockets are not known", async () => {
  await using processes = await makeProcesses({ 7: { sockets: undefined }, 8: { sockets: [82] } });
  expect(await processes.holders("81", "82")).toEqual({ byPlayers: [], byOthers: ["82"], isComplete: true });
});

// Root reads everything.
test.skipIf(isRoot)("a closed folder of descriptors is one that is hidden", async () => {
  await using processes = await makeProcesses({ 7: { limits: ofPlayer, sockets: [81] } });
  await chmod(join(processes.folder, "7/fd"), 0);
  expect(await processes.holders("81")).toMatchObject({ isComplete: false });
  await chmod(join(processes.folder, "7/fd"), 0o700);
});
