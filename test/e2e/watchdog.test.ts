/**
 * The watchdog as a real process over the real service, over services that fail in several ways, and over bytes that no service
 * would send. A plain file replaces /dev/watchdog: each feed is one byte in it, and an orderly end a `V`.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { once } from "node:events";
import {
  chmod,
  constants,
  copyFile,
  link,
  lstat,
  mkdtemp,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../../src/client/client.ts";
import { freePort } from "../helpers/free-port.ts";
import { eventually, eventuallyExists, eventuallyReaped } from "../helpers/processes.ts";
import { makePlace, program } from "../helpers/tapdeck.ts";

const source = join(import.meta.dir, "../../watchdog/tapdeck-watchdog.c");
const warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2"];
let tools = "";
const tool = (name: string) => join(tools, name);

beforeAll(async () => {
  tools = await mkdtemp(join(tmpdir(), "tapdeck-watchdog-"));
  await writeFile(tool("notified.c"), notifiedSource);
  await Promise.all([
    run("gcc", ...warnings, "-D_FORTIFY_SOURCE=2", "-static", source, "-o", tool("watchdog")),
    run(
      "gcc",
      ...warnings,
      "-g",
      "-fsanitize=address,undefined",
      "-fno-sanitize-recover",
      source,
      "-o",
      tool("checked"),
    ),
    run("gcc", ...warnings, tool("notified.c"), "-o", tool("notified")),
  ]);
  await writeFile(tool("service.mjs"), serviceSource);
});

afterAll(() => rm(tools, { recursive: true, force: true }));

/** The time-out is long for a healthy service, because the machine may stand still for a second. */
const patient = "--pong-ms=5000";

test("a service that was killed is started again and answers", async () => {
  await using place = await makePlace();
  // On a busy machine a killed service takes longer to end than three pings of 50 ms, and would count as hung.
  const options = [patient, "--ping-ms=1000"];
  await using guard = await startGuard(place.port, options, [program, `--data=${place.folder}`]);
  const first = await guard.servicePid(1);
  await guard.answers(1);
  const from = performance.now();
  process.kill(first, "SIGKILL");
  await guard.answers(2);
  print("killed, until it answers", performance.now() - from);
  expect(await askVersion(place.port)).toBe("linux");
  expect(await guard.state()).toMatch(
    /^event=restart time=\d{10} restarts=1 resets=0 why=the service was ended by signal 9\n$/,
  );
});

test.concurrent("a service whose event loop hangs is stopped and started again", async () => {
  await using place = await makePlace();
  await using guard = await startGuard(place.port, [], [program, `--data=${place.folder}`]);
  const first = await guard.servicePid(1);
  await guard.answers(1);
  const from = performance.now();
  process.kill(first, "SIGSTOP");
  await guard.answers(2);
  print("hung, until it answers", performance.now() - from);
  expect(await askVersion(place.port)).toBe("linux");
  expect(isAlive(first)).toBe(false);
  expect(await guard.state()).toContain(
    "why=the service did not answer 3 pings in a row: no pong came in time",
  );
});

test.concurrent("a service that takes pings and says nothing is started again", async () => {
  await using guard = await startScripted("deaf-after-3");
  await guard.answers(2);
  expect(await guard.state()).toContain("event=restart ");
  expect(await guard.state()).toContain("no pong came in time");
});

test.concurrent("a service that never answers at all is started again when the grace is over", async () => {
  // The window is short, so each restart is the only one in it, and the limit of three restarts is never reached.
  await using guard = await startScripted("deaf", ["--grace-ms=400", "--window-ms=300"]);
  await guard.servicePid(2);
  expect(await guard.state()).toMatch(
    /event=restart .* did not answer on 127\.0\.0\.1:\d+ within 400 ms of its start\n/,
  );
});

test("the hardware is fed at each pong, and by a plain stop it is switched off and the service ended", async () => {
  await using guard = await startScripted("well", [patient]);
  await eventually(async () => expect((await guard.feeds()).length).toBeGreaterThan(8));
  const pid = await guard.servicePid(1);
  expect(await guard.stop()).toBe(0);
  expect(await guard.feeds()).toMatch(/^\n+V$/);
  expect(isAlive(pid)).toBe(false);
  // Nothing happened, so nothing was written.
  expect(await guard.state()).toBe("");
});

test("three restarts end the feeding, for good, and a stop does not switch the hardware off", async () => {
  await using guard = await startScripted("well", [patient]);
  for (let time = 1; time <= 3; time++) {
    await guard.answers(time);
    process.kill(await guard.servicePid(time), "SIGKILL");
  }
  // The third restart is still made, and the service is healthy, but its pongs no longer feed the device.
  await guard.answers(4);
  expect(await guard.state()).toMatch(
    /^event=giving-up time=\d+ restarts=3 resets=0 why=the service was ended by signal 9\n$/,
  );
  const feeds = await guard.feeds();
  const pings = await guard.pings();
  await eventually(async () => expect(await guard.pings()).toBeGreaterThan(pings + 5));
  expect(await guard.feeds()).toBe(feeds);
  expect(await guard.stop()).toBe(0);
  expect(await guard.feeds()).toBe(feeds);
});

test("the reason of a reset is reported after it, and forgotten as a count after enough pongs", async () => {
  const state = "event=giving-up time=1700000000 restarts=3 resets=0 why=it hung\n";
  await using told = await startScripted("well", [], { state });
  await told.servicePid(1);
  expect(await told.state()).toBe("event=reset time=1700000000 restarts=0 resets=1 why=it hung\n");
  await using forgets = await startScripted("well", ["--healthy-ms=200"], { state });
  await eventually(async () =>
    expect(await forgets.state()).toBe("event=reset time=1700000000 restarts=0 resets=0 why=it hung\n"),
  );
});

test("after three resets in a row the hardware is left alone until the service was well for a while", async () => {
  const state = "event=giving-up time=1700000000 restarts=3 resets=2 why=it hung\n";
  await using left = await startScripted("well", [], { state });
  await left.answers(1);
  const pings = await left.pings();
  await eventually(async () => expect(await left.pings()).toBeGreaterThan(pings + 5));
  expect(await left.feeds()).toBe("");
  await using armed = await startScripted("well", ["--healthy-ms=100"], { state });
  await eventually(async () => expect(await armed.feeds()).not.toBe(""));
});

test("a state file of anything else counts as a quiet past", async () => {
  for (const state of [
    "",
    "\0\xff",
    "event=",
    "event=reset time=x",
    `event=giving-up ${"9".repeat(10_000)}`,
  ]) {
    await using guard = await startScripted("well", [], { state });
    await guard.answers(1);
    expect(await guard.feeds()).toMatch(/^\n+$/);
  }
});

test("if the device cannot be opened the service is watched all the same, and the state file says so", async () => {
  await using guard = await startScripted("well", ["--device=/nonexistent/watchdog"]);
  await guard.answers(1);
  expect(await guard.state()).toMatch(/^event=unguarded .* cannot be opened: No such file or directory\n$/);
});

test.concurrent("players that a dead service left behind end before the next one starts", async () => {
  await using guard = await startScripted("with-player");
  await guard.answers(1);
  const player = Number(await guard.told(/player (\d+)/));
  process.kill(await guard.servicePid(1), "SIGKILL");
  await guard.servicePid(2);
  expect(isAlive(player)).toBe(false);
});

test.concurrent("a player that a dead service left behind has time to save", async () => {
  await using guard = await startScripted("with-saving-player");
  await guard.answers(1);
  await guard.told(/the player is (ready)/);
  process.kill(await guard.servicePid(1), "SIGKILL");
  await guard.servicePid(2);
  await eventually(() => expect(guard.log()).toContain("the player has saved\n"));
});

test.concurrent("a service that is asked to end has more time than one that hangs", async () => {
  const script =
    "trap 'sleep 1; echo it ended in order; exit 0' TERM; echo ready for it; while :; do sleep 0.05; done";
  await using guard = await startGuard(9, [], ["/bin/sh", "-c", script]);
  await guard.told(/(ready)/);
  await guard.stop();
  // The script needs one second to end, which is longer than --stop-ms.
  await eventually(() => expect(guard.log()).toContain("it ended in order\n"));
});

test.concurrent("should the watchdog itself be killed, the service ends in order", async () => {
  await using guard = await startScripted("well");
  await guard.answers(1);
  const pid = await guard.servicePid(1);
  process.kill(guard.pid, "SIGKILL");
  await eventuallyReaped(pid);
  // No `V` is written, so the hardware resets the machine if no other watchdog follows.
  expect(await guard.feeds()).toMatch(/^\n+$/);
});

test.concurrent("the service gets the user and groups asked for, and nothing that steers its runtime", async () => {
  const isRoot = process.getuid?.() === 0;
  const [uid, gid] = isRoot ? [1234, 2345] : [process.getuid?.(), process.getgid?.()];
  await chmod(tools, 0o755);
  const options = isRoot ? [`--user=${uid}:${gid},3456,4567`] : [];
  const env = { BUN_INSPECT_PRELOAD: "/tmp/x", BUN_OPTIONS: "--x", NOTIFY_SOCKET: "/tmp/x", KEPT: "yes" };
  const shell = [
    "/bin/sh",
    "-c",
    `echo "who $(id -u) $(id -g) [$(id -G)] \${BUN_INSPECT_PRELOAD-}\${BUN_OPTIONS-}\${NOTIFY_SOCKET-}$KEPT."; exec sleep 60`,
  ];
  await using guard = await startGuard(9, options, shell, { env });
  expect(await guard.told(/who (.*)\./)).toBe(
    isRoot ? "1234 2345 [2345 3456 4567] yes" : expect.stringMatching(/yes$/),
  );
});

test.concurrent("beside systemd it is the main process, and READY, once, and WATCHDOG, at each pong, come from no other", async () => {
  await using folder = await temporary();
  const port = freePort();
  const socket = join(folder.path, "notify");
  const receiver = Bun.spawn([tool("notified"), socket], { stdout: "pipe" });
  await eventuallyExists(socket);
  const given = { NOTIFY_SOCKET: socket, WATCHDOG_OPTIONS: "x", SYSTEMD_EXEC_PID: "1", LISTEN_FDS: "1" };
  await using guard = await startGuard(
    port,
    ["--supervise=no", "--device=none", "--ping-ms=5000"],
    [process.execPath, tool("service.mjs"), "well", `${port}`],
    // Half of the interval is shorter than --ping-ms.
    { env: { ...given, WATCHDOG_USEC: "100000", KEPT: "yes" } },
  );
  let heard = "";
  for await (const chunk of receiver.stdout) {
    heard += new TextDecoder().decode(chunk);
    if (heard.split("WATCHDOG").length > 4) break;
  }
  const pinger = String(guard.pid);
  expect(heard.replaceAll(new RegExp(`^${pinger} `, "gm"), "")).toMatch(/^READY=1\n(WATCHDOG=1\n)+$/);
  // Without these variables the service, a child of the watchdog, cannot name another main process to systemd.
  const service = await guard.servicePid(1);
  expect(await childrenOf(guard.pid)).toEqual([service]);
  const environment = await readFile(`/proc/${service}/environ`, "latin1");
  expect(environment).not.toMatch(/(^|\0)(NOTIFY_SOCKET|WATCHDOG_\w+|SYSTEMD_EXEC_PID|LISTEN_FDS)=/);
  expect(environment).toMatch(/(^|\0)KEPT=yes\0/);
  await guard.stop();
  expect(isAlive(service)).toBe(false);
  receiver.kill();
  await receiver.exited;
});

test("beside systemd an owner restarts the service more often than systemd would, and the watchdog sees no end", async () => {
  await using place = await makePlace();
  // The service knows its supervisor by this name.
  const watchdog = tool("tapdeck-watchdog");
  await copyFile(tool("watchdog"), watchdog);
  const options = [patient, "--ping-ms=1000", "--supervise=no"];
  const extra = { watchdog, env: { INVOCATION_ID: "1" } };
  await using guard = await startGuard(place.port, options, [program, `--data=${place.folder}`], extra);
  const pid = await guard.servicePid(1);
  for (let time = 1; time <= 5; time++) {
    await guard.listens(time);
    await run(program, `--data=${place.folder}`, "call", "device.restart");
  }
  await guard.listens(6);
  expect(await askVersion(place.port)).toBe("linux");
  expect(await childrenOf(guard.pid)).toEqual([pid]);
  expect(await guard.state()).toBe("");
});

/** Starts the watchdog as below another supervisor, such as systemd. Its service is a shell that runs `script`. */
const besideShell = (script: string) => startGuard(9, ["--supervise=no"], ["/bin/sh", "-c", script]);

test.concurrent.each([0, 1, 64, 78, 143])("beside systemd an exit code of %i is its own", async (code) => {
  await using guard = await besideShell(`exit ${code}`);
  expect(await guard.ended()).toEqual([code, null]);
});

test.concurrent.each(["SIGKILL", "SIGSEGV", "SIGTERM"] as const)(
  "beside systemd a service that %s ended ends it by the same signal",
  async (signal) => {
    await using guard = await besideShell("ulimit -c 0; echo ready for it; exec sleep 60");
    await guard.told(/(ready)/);
    process.kill(await guard.servicePid(1), signal);
    const [, by] = await guard.ended();
    expect(by).toBe(signal);
  },
);

test.concurrent.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "beside systemd %s is passed on, and the service may take its time to end",
  async (signal) => {
    const name = signal.slice(3);
    await using guard = await besideShell(
      `trap 'echo heard ${name}; sleep 0.6; exit 7' ${name}; echo ready for it; while :; do sleep 0.05; done`,
    );
    await guard.told(/(ready)/);
    process.kill(guard.pid, signal);
    // The service needs 0.6 seconds to end, which is longer than --stop-ms.
    expect(await guard.ended()).toEqual([7, null]);
    expect(await guard.told(/heard (\w+)/)).toBe(name);
    // The watchdog does not restart a service that was asked to end.
    expect(await guard.state()).toBe("");
  },
);

test.concurrent("beside systemd a service that hangs ends with a watchdog that is killed", async () => {
  await using guard = await startScripted("well", ["--supervise=no"]);
  await guard.answers(1);
  const pid = await guard.servicePid(1);
  process.kill(pid, "SIGSTOP");
  process.kill(guard.pid, "SIGKILL");
  await eventuallyReaped(pid);
});

test.concurrent("a player of the same user cannot trace it", async () => {
  const isRoot = process.getuid?.() === 0;
  await chmod(tools, 0o755);
  const asAnother = isRoot ? ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", "--"] : [];
  const shell = ["/bin/sh", "-c", "echo started; exec sleep 60"];
  const child = Bun.spawn([...asAnother, tool("watchdog"), "--supervise=no", "--port=9", "--", ...shell], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, NOTIFY_SOCKET: "/nonexistent/notify" },
  });
  await child.stdout.getReader().read();
  // The files of a process that its own user may not trace belong to root (proc(5)).
  expect((await stat(`/proc/${child.pid}/environ`)).uid).toBe(0);
  child.kill("SIGTERM");
  await child.exited;
});

test.concurrent("the state file is its owner's alone, or readable to the group that the service gets", async () => {
  const state = "event=giving-up time=1700000000 restarts=3 resets=0 why=it hung\n";
  await using alone = await startScripted("well", [], { state });
  await alone.servicePid(1);
  expect((await stat(alone.statePath)).mode & 0o777).toBe(0o600);
  if (process.getuid?.() !== 0) return;
  const shell = ["/bin/sh", "-c", "exec sleep 60"];
  await using shared = await startGuard(9, ["--user=1234:2345,3456"], shell, { state });
  await shared.servicePid(1);
  const { mode, uid, gid } = await stat(shared.statePath);
  expect([mode & 0o777, uid, gid]).toEqual([0o640, 0, 2345]);
});

test.concurrent.skipIf(process.getuid?.() !== 0)(
  "the service's user sees no shared memory of root's, such as the log of the image",
  async () => {
    const made = Bun.spawnSync(["ipcmk", "--shmem", "4096", "--mode", "0644"]).stdout.toString();
    const id = /\d+/.exec(made)?.[0] ?? "";
    try {
      const shell = ["/bin/sh", "-c", "exec sleep 60"];
      await using guard = await startGuard(9, ["--user=1234:2345"], shell);
      const pid = await guard.servicePid(1);
      const listed = new RegExp(`^ *-?\\d+ +${id} `, "m");
      expect(await readFile("/proc/sysvipc/shm", "utf8")).toMatch(listed);
      const inside = ["nsenter", `--target=${pid}`, "--ipc", "cat", "/proc/sysvipc/shm"];
      // The child enters the namespace a moment after its start.
      await eventually(() => expect(Bun.spawnSync(inside).stdout.toString()).not.toMatch(listed));
    } finally {
      Bun.spawnSync(["ipcrm", "--shmem-id", id]);
    }
  },
);

test.concurrent("pipes and links of the service's user in the place of the state file are neither opened nor followed", async () => {
  await using pipes = await startScripted("well", [], {
    prepare: (path) => run("mkfifo", path, `${path}.new`),
  });
  await using links = await startScripted("well", [], {
    async prepare(path) {
      await writeFile(`${path}-other`, "event=giving-up time=1 restarts=3 resets=0 why=it hung\n");
      await symlink(`${path}-other`, path);
      await link(`${path}-other`, `${path}.new`);
    },
  });
  for (const guard of [pipes, links]) {
    process.kill(await guard.servicePid(1), "SIGKILL");
    await guard.servicePid(2);
    const { mode, nlink } = await lstat(guard.statePath);
    expect([mode & constants.S_IFMT, nlink]).toEqual([constants.S_IFREG, 1]);
    expect(await guard.state()).toMatch(/^event=restart .* resets=0 /);
  }
  expect(await readFile(`${links.statePath}-other`, "utf8")).toStartWith("event=giving-up ");
});

test.concurrent("beside another supervisor it feeds at pongs only, starts nothing, and says that the service is silent", async () => {
  await using guard = await startGuard(freePort(), ["--supervise=no", "--grace-ms=100"], []);
  await eventually(async () => expect(await guard.state()).toStartWith("event=silent "));
  const before = (await guard.feeds()).length;
  let pings = 0;
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: guard.port,
    fetch: (request, self) => (self.upgrade(request) ? undefined : new Response("no", { status: 400 })),
    websocket: {
      message(socket, message) {
        if (message === "ping") pings++;
        socket.send("pong");
      },
    },
  });
  await eventually(() => expect(pings).toBeGreaterThan(3));
  await eventually(async () => expect((await guard.feeds()).length).toBeGreaterThanOrEqual(before + 3));
  await server.stop(true);
  expect(await guard.stop()).toBe(0);
});

test.concurrent("a pong is heard however its bytes are cut, behind notifications, pings and long frames", async () => {
  const upgraded = text(
    "HTTP/1.1 101 Switching Protocols\r\nsec-websocket-ACCEPT:  s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
  );
  const frames = Buffer.concat([
    frame(1, "pong!"),
    frame(9, "are you there"),
    frame(2, "pong"),
    frame(1, "x".repeat(200)),
    frame(1, "y".repeat(70_000)),
    frame(1, "pong"),
  ]);
  const answer = Buffer.concat([upgraded, frames]);
  const cuts = [
    ...Array(upgraded.length + 40).keys(),
    ...Array(30)
      .keys()
      .map((n) => answer.length - n - 1),
  ];
  let round = 0;
  let answered = "";
  await using guard = await startBeside(
    ({ socket, bytes, isFirst }) => {
      if (!isFirst) {
        answered += unmasked(bytes);
        return;
      }
      const cut = cuts[round++ % cuts.length] ?? 0;
      socket.write(answer.subarray(0, cut));
      setTimeout(() => socket.end(answer.subarray(cut)), 1);
    },
    ["--ping-ms=1", "--pong-ms=2000", "--grace-ms=60000"],
  );
  await eventually(async () => {
    expect((await guard.feeds()).length).toBeGreaterThan(cuts.length);
    expect(round).toBeGreaterThan(cuts.length);
  });
  await eventually(() => expect(answered).toContain("are you there"));
  expect(await guard.state()).toBe("");
});

const badAnswers = {
  "another key":
    "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
  "no key": "HTTP/1.1 101 Switching Protocols\r\n\r\n",
  "a refusal": "HTTP/1.1 403 Forbidden\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
  "half a handshake": "HTTP/1.1 101 Switching Proto",
  "a header without end": `HTTP/1.1 101 x\r\nx: ${"x".repeat(5000)}`,
  "a zero byte": "HTTP/1.1 101 x\r\n\0Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
} as const;

test.concurrent.each(Object.entries(badAnswers))("a pong behind %s is none", async (_, head) => {
  await using guard = await startBeside(
    ({ socket, isFirst }) => {
      if (isFirst) socket.write(Buffer.concat([text(head), frame(1, "pong")]));
    },
    ["--pong-ms=50", "--grace-ms=100"],
  );
  await eventually(async () => expect(await guard.state()).toStartWith("event=silent "));
});

const badFrames: Readonly<Record<string, Uint8Array>> = {
  "a masked frame": Uint8Array.of(0x81, 0x84, 0, 0, 0, 0),
  "a reserved bit": Uint8Array.of(0xc1, 0x00),
  "an unknown kind": Uint8Array.of(0x83, 0x00),
  "a length of 64 bits": Uint8Array.of(0x81, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
  "a frame of 2^62 bytes": Uint8Array.of(0x81, 127, 0x40, 0, 0, 0, 0, 0, 0, 0),
  "a long ping": Uint8Array.of(0x89, 126, 0x01, 0x00),
  "a ping in pieces": Uint8Array.of(0x09, 0x00),
  "a farewell": Uint8Array.of(0x88, 0x00),
};

test.concurrent.each(Object.entries(badFrames))("a pong behind %s is none", async (_, bad) => {
  await using guard = await startBeside(
    ({ socket, isFirst }) => {
      if (isFirst) socket.write(Buffer.concat([text(upgrade), bad, frame(1, "pong")]));
    },
    ["--pong-ms=50", "--grace-ms=100"],
  );
  await eventually(async () => expect(await guard.state()).toStartWith("event=silent "));
});

test.concurrent("3,000 connections of random bytes neither crash it nor read past an end, and then it hears a true pong", async () => {
  const random = createRandom(7497);
  let rounds = 0;
  await using guard = await startBeside(
    ({ socket, isFirst }) => {
      if (!isFirst) return;
      if (rounds++ >= 3000) socket.write(Buffer.concat([text(upgrade), frame(1, "pong")]));
      else if (random() < 0.3) socket.end(garbage(random));
      else socket.write(garbage(random));
    },
    ["--ping-ms=1", "--pong-ms=2", "--grace-ms=1"],
    tool("checked"),
  );
  await eventually(() => expect(rounds).toBeGreaterThan(3000));
  await guard.answers(1);
  expect(guard.log()).not.toMatch(/Sanitizer|runtime error/);
  expect(await guard.stop()).toBe(0);
});

test("it takes less than a megabyte of memory", async () => {
  await using guard = await startScripted("well");
  await guard.answers(1);
  const status = await readFile(`/proc/${guard.pid}/status`, "utf8");
  const residentKb = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]);
  process.stdout.write(`watchdog: ${residentKb} kB resident\n`);
  expect(residentKb).toBeLessThan(1024);
});

const refusals: readonly (readonly [words: readonly string[], sentence: string])[] = [
  [["--port=0", "--", "/bin/true"], "--port=0: that is no number it takes"],
  [["--port=7497x", "--", "/bin/true"], "--port=7497x: that is no number it takes"],
  [["--grace-ms=99999999999999999999", "--", "/bin/true"], "that is no number it takes"],
  [["--address=localhost", "--", "/bin/true"], "it takes an IPv4 address"],
  [["--user=tapdeck", "--", "/bin/true"], "it takes numbers: UID:GID,GID,..."],
  [["--user=1:2,", "--", "/bin/true"], "it takes numbers"],
  [["--device=", "--", "/bin/true"], "it takes a file, or none"],
  [["--fast", "--", "/bin/true"], "--fast: there is no such option"],
  [["--device=none"], "the service to start must follow it"],
  [["--device=none", "--", "tapdeck"], "tapdeck: the program's whole path is wanted"],
  [["--supervise=no"], "nobody would hear of it"],
];

test.each(refusals)("%p is refused with a sentence", async (words, sentence) => {
  const child = Bun.spawn([tool("watchdog"), ...words], { stderr: "pipe", env: {} });
  const said = await new Response(child.stderr).text();
  expect(said).toContain(sentence);
  expect(said.trim().split("\n")).toHaveLength(1);
  expect(await child.exited).toBe(64);
});

/** The service program after `--`: it answers pings, and fails in the way that its first argument names. */
const serviceSource = `
import { appendFileSync } from "node:fs";
const [, , kind, port, pingsFile] = process.argv;
let pings = 0;
if (kind === "with-player") {
  const player = Bun.spawn(["/bin/sh", "-c", "trap '' HUP; sleep 60"], { detached: true, stdio: ["ignore", "ignore", "ignore"] });
  process.stderr.write("player " + player.pid + "\\n");
}
if (kind === "with-saving-player") {
  const script = "trap 'sleep 1.5; echo the player has saved >&2; exit' TERM; echo the player is ready >&2; while :; do sleep 0.05; done";
  Bun.spawn(["/bin/sh", "-c", script], { detached: true, stdio: ["ignore", "ignore", "inherit"] });
}
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  fetch: (request, self) => (self.upgrade(request) ? undefined : new Response("no", { status: 400 })),
  websocket: {
    message(socket, message) {
      if (message !== "ping") return;
      appendFileSync(pingsFile, ".");
      if (kind === "deaf" || (kind === "deaf-after-3" && ++pings > 3)) return;
      socket.send("pong");
    },
  },
});
`;

/**
 * A program that replaces systemd. It prints the datagrams, one a line, each after the process id of its sender (unix(7)).
 */
const notifiedSource = `
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
int main(int count, char **words) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  char text[256], control[CMSG_SPACE(sizeof(struct ucred))];
  if (count != 2 || strlen(words[1]) >= sizeof at.sun_path) return 1;
  strcpy(at.sun_path, words[1]);
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0), on = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return 1;
  if (bind(fd, (const struct sockaddr *)&at, sizeof at) != 0) return 1;
  for (;;) {
    struct iovec part = {.iov_base = text, .iov_len = sizeof text - 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    const ssize_t length = recvmsg(fd, &message, 0);
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    struct ucred sender;
    if (length < 0 || head == NULL || head->cmsg_type != SCM_CREDENTIALS) return 1;
    memcpy(&sender, CMSG_DATA(head), sizeof sender);
    if (dprintf(1, "%d %.*s\\n", (int)sender.pid, (int)length, text) < 0) return 1;
  }
}
`;

interface Guard {
  readonly pid: number;
  readonly port: number;
  log(): string;
  /** Resolves with the group of the log's first match of `pattern`. */
  told(pattern: RegExp): Promise<string>;
  /** Process id of the `time`-th service. */
  servicePid(time: number): Promise<number>;
  /** Resolves once a service has listened this many times. */
  listens(time: number): Promise<void>;
  /** Resolves at the first answer of the service after this many starts. */
  answers(time: number): Promise<void>;
  /** The bytes that the device received. */
  feeds(): Promise<string>;
  /** The number of pings that a scripted service received. */
  pings(): Promise<number>;
  state(): Promise<string>;
  readonly statePath: string;
  /** Sends TERM to the watchdog, and resolves with its exit code. */
  stop(): Promise<number>;
  /** Resolves with the exit code of the watchdog, or the signal that ended it. */
  ended(): Promise<readonly [code: number | null, signal: string | number | null]>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Extra {
  /** The content of the state file before the start. */
  readonly state?: string;
  /** Called with the path of the state file before the start. */
  readonly prepare?: (path: string) => Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
  readonly watchdog?: string;
}

async function startGuard(
  port: number,
  options: readonly string[],
  service: readonly string[],
  { state, prepare, env = {}, watchdog = tool("watchdog") }: Extra = {},
): Promise<Guard> {
  const folder = await temporary();
  const at = (name: string) => join(folder.path, name);
  await writeFile(at("device"), "");
  if (state !== undefined) await writeFile(at("state"), state, "latin1");
  await prepare?.(at("state"));
  const times = ["--ping-ms=50", "--pong-ms=400", "--grace-ms=20000", "--stop-ms=400"];
  const places = [`--port=${port}`, `--device=${at("device")}`, `--state=${at("state")}`];
  const behind =
    service.length === 0 ? [] : ["--", ...service, ...(isScripted(service) ? [at("pings")] : [])];
  const child = Bun.spawn([watchdog, ...times, ...places, ...options, ...behind], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  let log = "";
  const gather = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) log += decoder.decode(chunk, { stream: true });
  };
  void gather(child.stdout);
  void gather(child.stderr);
  const nth = async (pattern: RegExp, time: number): Promise<string> => {
    const found = () => [...log.matchAll(pattern)][time - 1];
    // If the condition does not come true, the failure has the log.
    await eventually(() => found() !== undefined || child.exitCode !== null).catch(() => {});
    const match = found();
    if (match === undefined) throw new Error(`not ${time} times ${pattern} in:\n${log}`);
    return match[1] ?? "";
  };
  const content = (name: string) => readFile(at(name), "latin1").catch(() => ""); // The file is not written yet.
  const stop = async () => {
    child.kill("SIGTERM");
    return child.exited;
  };
  return {
    pid: child.pid,
    port,
    log: () => log,
    told: (pattern) => nth(new RegExp(pattern, "g"), 1),
    servicePid: async (time) => Number(await nth(/was started pid=(\d+)/g, time)),
    listens: async (time) => void (await nth(/service: listening/g, time)),
    answers: async (time) => void (await nth(/the service answers ms=/g, time)),
    feeds: () => content("device"),
    pings: async () => (await content("pings")).length,
    state: () => content("state"),
    statePath: at("state"),
    stop,
    async ended() {
      await child.exited;
      return [child.exitCode, child.signalCode];
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await stop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Starts the watchdog with the scripted service of this file, which behaves as `kind` says. */
function startScripted(kind: string, options: readonly string[] = [], extra: Extra = {}): Promise<Guard> {
  const port = freePort();
  return startGuard(port, options, [process.execPath, tool("service.mjs"), kind, `${port}`], extra);
}

function isScripted(service: readonly string[]): boolean {
  return service.includes(tool("service.mjs"));
}

interface Heard {
  readonly socket: { write(bytes: Uint8Array): unknown; end(bytes: Uint8Array): unknown };
  readonly bytes: Uint8Array;
  /** True for a good handshake. */
  readonly isFirst: boolean;
}

/**
 * Starts the watchdog, and as its service a server in this process that answers the bytes of each connection with `answer`.
 */
async function startBeside(
  answer: (heard: Heard) => void,
  options: readonly string[],
  watchdog = tool("watchdog"),
): Promise<Guard> {
  const greeted = new WeakSet<object>();
  // The server is one of node:net, whose sockets keep the bytes that do not fit into the kernel's buffer; Bun's own
  // sockets drop them on a busy machine.
  const server = createServer((socket) => {
    socket.on("data", (bytes: Uint8Array) => {
      const isFirst = !greeted.has(socket);
      greeted.add(socket);
      answer({ socket, bytes, isFirst });
    });
    socket.on("error", () => {}); // The watchdog hangs up on garbage, as it should.
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const guard = await startGuard(address.port, ["--supervise=no", ...options], [], { watchdog });
  return {
    ...guard,
    async [Symbol.asyncDispose]() {
      await guard[Symbol.asyncDispose]();
      server.close();
    },
  };
}

const upgrade =
  "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

function text(characters: string): Uint8Array {
  return new TextEncoder().encode(characters);
}

/** A frame of a server (RFC 6455, 5.2). */
function frame(opcode: number, payload: string): Uint8Array {
  const { length } = payload;
  const size =
    length < 126
      ? [length]
      : length < 65_536
        ? [126, length >> 8, length & 0xff]
        : [127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 0xff, length & 0xff];
  return Buffer.concat([Uint8Array.of(0x80 | opcode, ...size), text(payload)]);
}

/** The payloads of short masked frames. */
function unmasked(bytes: Uint8Array): string {
  let payloads = "";
  for (let at = 0; at + 6 <= bytes.length; ) {
    const length = (bytes[at + 1] ?? 0) & 0x7f;
    const mask = bytes.subarray(at + 2, at + 6);
    for (const [n, byte] of bytes.subarray(at + 6, at + 6 + length).entries())
      payloads += String.fromCharCode(byte ^ (mask[n % 4] ?? 0));
    at += 6 + length;
  }
  return payloads;
}

/** Random bytes, mostly after a good handshake, and often with the beginnings of frames among them. */
function garbage(random: () => number): Uint8Array {
  const below = (most: number) => Math.floor(random() * most);
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => below(256));
  const pieces: Uint8Array[] = [];
  if (random() < 0.8)
    pieces.push(text(upgrade).subarray(0, random() < 0.1 ? below(upgrade.length) : undefined));
  for (let count = below(6); count > 0; count--) {
    const first = random() < 0.8 ? ([0x01, 0x81, 0x82, 0x89, 0x8a, 0x80][below(6)] ?? 0) : below(256);
    const length = below(random() < 0.5 ? 128 : 256);
    pieces.push(Uint8Array.of(first, length), bytes(random() < 0.7 ? length : below(5000)));
  }
  return Buffer.concat(pieces);
}

function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

async function askVersion(port: number): Promise<string> {
  const client = await connect(`ws://127.0.0.1:${port}/api/v0.1`);
  const { platform } = await client.call("version");
  client.close();
  return platform;
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const listed = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return listed.split(" ").filter(Boolean).map(Number);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // No such process exists.
  }
}

async function temporary() {
  const path = await mkdtemp(join(tmpdir(), "tapdeck-watchdog-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

async function run(...argv: readonly string[]): Promise<void> {
  const child = Bun.spawn([...argv], { stderr: "pipe" });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(said);
}

function print(what: string, ms: number): void {
  process.stdout.write(`watchdog: ${what}: ${ms.toFixed(0)} ms\n`);
}
