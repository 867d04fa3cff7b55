/**
 * The share for PCs: the reports of root's scripts, and the words that request them.
 * Covers: src/core/share-shapes.ts.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "../../../src/core/log.ts";
import { isSharePassword } from "../../../src/core/share-shapes.ts";
import { followShare, ntHashOf, shareReportIn } from "../../../src/services/share.ts";
import { eventually } from "../../helpers/processes.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-share-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("the hash of a password is the one that SMB compares with", () => {
  // RFC 1320, A.5, has the hash of no bytes. The other hash is that of [MS-NLMP] 4.2.2.1.2.
  expect(ntHashOf("")).toBe("31D6CFE0D16AE931B73C59D7E0C089C0");
  expect(ntHashOf("Password")).toBe("A4F49C406510BDCAB6824EE7C30FD852");
});

test("a password has 8 to 63 characters that a person can type", () => {
  for (const good of ["12345678", "correct horse", "ßäöü€🎮🎮🎮", "x".repeat(63)])
    expect(isSharePassword(good)).toBe(true);
  for (const bad of ["", "1234567", "x".repeat(64), "1234567\n", "12345678\u0000", "🎮".repeat(7)])
    expect([bad, isSharePassword(bad)]).toEqual([bad, false]);
});

test("the state is what the script reports; a report that is cut off or from another version is none", () => {
  expect(shareReportIn("state=off\nfault=failed\n", "deck")).toEqual({
    state: "off",
    fault: "failed",
    host: "deck",
  });
  expect(shareReportIn("state=on\n", "deck")).toEqual({ state: "on", host: "deck" });
  for (const text of ["", "stat", "state=open\n", "state=on\nfault=rain\n"])
    expect(shareReportIn(text, "deck")).toEqual({ state: "none" });
});

/** A folder of reports, the pipe of the root script, what was written into it, and what Windows is told. */
async function follow(refuses = false) {
  const reports = await mkdtemp(join(folder, "reports-"));
  const pipePath = join(folder, `pipe-${Math.random()}`);
  await Bun.$`mkfifo ${pipePath}`;
  const pipe = openSync(pipePath, constants.O_RDWR | constants.O_NONBLOCK);
  const told: string[] = [];
  const share = followShare({
    folder: reports,
    pipe,
    log: silentLog,
    async announce(name) {
      if (refuses) throw new Error("the port is taken");
      told.push(`hello ${name}`);
      return {
        async [Symbol.asyncDispose]() {
          told.push("bye");
        },
      };
    },
  });
  return {
    share,
    told,
    async report(text: string) {
      await writeFile(join(reports, ".share"), text);
      await rename(join(reports, ".share"), join(reports, "share"));
    },
    asked() {
      const bytes = Buffer.alloc(4096);
      return bytes.toString("utf8", 0, readSync(pipe, bytes));
    },
    async [Symbol.asyncDispose]() {
      await share.close();
      closeSync(pipe);
    },
  };
}

test("the script gets the hash of a password and never the password", async () => {
  await using followed = await follow();
  const { share, report, asked } = followed;
  await report("state=off\n");
  await eventually(() => expect(share.report().state).toBe("off"));
  await share.set({ password: "correct horse" });
  await share.remove();
  expect(asked()).toBe("share set CFC43211BA8DC470832267827CAC1407\nshare remove\n");
  await expect(share.set({ password: "short" })).rejects.toMatchObject({
    message: "the password of the share has 8 to 63 characters",
  });
});

test("the report from before a password was set does not count for the new one", async () => {
  await using followed = await follow();
  const { share, report } = followed;
  await report("state=on\n");
  await eventually(() => expect(share.report().state).toBe("on"));
  await share.set({ password: "correct horse" });
  expect(share.report()).toEqual({ state: "starting", host: hostname() });
  await report("state=off\nfault=failed\n");
  await eventually(() => expect(share.report()).toEqual({ state: "off", fault: "failed", host: hostname() }));
});

test("Windows is told of the share while it is on, once for each time", async () => {
  const followed = await follow();
  const { share, report, told } = followed;
  expect(told).toEqual([]);
  await report("state=on\n");
  await eventually(() => expect(told).toEqual([`hello ${hostname()}`]));
  await report("state=starting\n");
  await eventually(() => expect(told).toHaveLength(2));
  await report("state=on\n");
  await eventually(() => expect(told).toHaveLength(3));
  expect(share.report()).toEqual({ state: "on", host: hostname() });
  await followed[Symbol.asyncDispose]();
  expect(told).toEqual([`hello ${hostname()}`, "bye", `hello ${hostname()}`, "bye"]);
});

test("a share that cannot be announced is a share all the same", async () => {
  await using followed = await follow(true);
  await followed.report("state=on\n");
  await eventually(() => expect(followed.share.report().state).toBe("on"));
  await followed.share.remove();
  expect(followed.asked()).toBe("share remove\n");
});

test("a machine that is not the image refers to its own share", async () => {
  const share = followShare({
    folder: "",
    pipe: 0,
    log: silentLog,
    announce: () => Promise.reject(new Error("never")),
  });
  expect(share.report()).toEqual({ state: "none" });
  for (const act of [() => share.set({ password: "correct horse" }), () => share.remove()])
    await expect(act()).rejects.toThrow(
      "only Tapdeck's own image has a share for PCs: use that of this system",
    );
  await share.close();
});
