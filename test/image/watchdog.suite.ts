/** The watchdog end to end: each hang on the emulated board ends in a working service. Run by `make test-image`. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Board, cardBytes, image, service, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print, seconds } from "./figures.ts";
import { patienceMs, until } from "./until.ts";

let card: Card;
let board: Board;
/** The number of starts of the machine so far. */
let starts = 1;

beforeAll(async () => {
  card = await makeCard(image, cardBytes);
  board = await startBoard({ card });
  await board.pong();
}, patienceMs);

afterAll(async () => {
  await board[Symbol.asyncDispose]();
  await card[Symbol.asyncDispose]();
}, patienceMs);

const state = "cat /data/state/watchdog";
/** Settings of an inetd that accepts connections on the service's port, but never sends anything. */
const deafSettings = "echo '7497 stream tcp nowait root /bin/sleep sleep 600' >/run/deaf.conf";

test(
  "a service that takes connections and says nothing is replaced by one that answers",
  async () => {
    // Replaces the program of the service by another listener, which the watchdog starts when the real service has ended.
    // It must not replace the service's short-lived helpers, because it cannot listen yet and would not end.
    const isService = '[ "$PPID" = "$(cat /var/run/tapdeck-watchdog.pid)" ]';
    // The service's PATH has no folder of system programs.
    const inetd = await board.shell("command -v inetd");
    const script = `'#!/bin/sh' '${isService} && exec ${inetd} -f /run/deaf.conf'`;
    await board.shell(`${deafSettings}; printf '%s\\n' ${script} >/run/deaf`);
    await board.shell("chmod 755 /run/deaf");
    await board.shell("mount -o bind /run/deaf /usr/bin/tapdeck");
    const before = await until("the log", async () => (await answersIn()) || undefined);
    const from = performance.now();
    await board.shell(`kill -KILL ${service}`);
    await until("the deaf one", () => board.shell("pidof inetd").catch(() => false));
    await board.shell("umount -l /usr/bin/tapdeck");
    await until("the real one", async () => (await answersIn()) > before);
    await board.pong();
    print("the service was deaf from its start on, until it answers", seconds(performance.now() - from));
    expect(await board.shell(state)).toContain(
      "did not answer on 127.0.0.1:7497 within 60000 ms of its start",
    );
  },
  patienceMs,
);

test(
  "a third restart within five minutes ends in a reset by the hardware, and health tells why",
  async () => {
    const from = performance.now();
    await board.shell(`kill -KILL ${service}`);
    await untilRestarted();
    print("the third restart, until the machine was reset and answers", seconds(performance.now() - from));
    const client = await board.client();
    try {
      const { checks } = await client.call("health");
      const { ok, reason } = checks.find(({ name }) => name === "watchdog") ?? {};
      expect(ok).toBe(false);
      // On a busy machine the first service after the reset may have been too slow, and was then replaced.
      expect(reason).toMatch(/^the watchdog (reset this machine: .* signal 9|started the service again: )/);
      expect(await board.shell(state)).toContain(" resets=1 ");
    } finally {
      client.close();
    }
  },
  patienceMs,
);

test(
  "a service that was killed answers again",
  async () => {
    const tookMs = await untilAnswersAgain(`kill -KILL ${service}`);
    print("the service was killed, until it answers", seconds(tookMs));
    expect(await board.shell(state)).toMatch(/^event=restart .* why=the service was ended by signal 9$/);
  },
  patienceMs,
);

test(
  "a service that hangs answers again",
  async () => {
    const tookMs = await untilAnswersAgain(`kill -STOP ${service}`);
    print("the service hung, until it answers", seconds(tookMs));
    expect(await board.shell(state)).toContain("did not answer 3 pings in a row");
  },
  patienceMs,
);

test(
  "a machine that hangs as a whole is reset by the hardware",
  async () => {
    const from = performance.now();
    // A panic without a restart, after which nothing runs any more.
    void board.shell("sysctl -q -w kernel.panic=0; echo c >/proc/sysrq-trigger").catch(() => {});
    await board.said("Kernel panic");
    await untilRestarted();
    print("the whole machine hung, until it answers", seconds(performance.now() - from));
  },
  patienceMs,
);

test(
  "links of the service's user lead root nowhere: at a start of the service, in a restore, at a start of the machine",
  async () => {
    const look = "ls -ldn /data/secret /data/secret/file; cat /data/secret/file";
    await board.shell("mkdir -m 0700 /data/secret; (umask 077; echo root >/data/secret/file)");
    const before = await board.shell(look);
    const plant = (path: string) =>
      board.shell(`rm -rf ${path}; ln -s /data/secret ${path}; chown -h tapdeck:tapdeck ${path}`);
    await plant("/data/tapdeck/states");
    await plant("/run/tapdeck/planted");
    await untilAnswersAgain("/etc/init.d/S90tapdeck restart");
    expect(await board.shell(look)).toBe(before);
    await board.shell("/etc/init.d/S90tapdeck stop; tapdeck backup /data/one.tapdeck </dev/null");
    await plant("/data/tapdeck/backups");
    const restored = await board.shell("tapdeck restore /data/one.tapdeck </dev/null || echo refused");
    expect(restored).toContain("refused");
    expect(await board.shell(look)).toBe(before);
    // The service needs the folder that the file replaced.
    await board.shell("rm /data/tapdeck/backups");
    await board.shell("sync; reboot");
    await untilRestarted();
    expect(await board.shell(look)).toBe(before);
  },
  2 * patienceMs,
);

test.if(process.env.THOROUGH === "1")(
  "without the hardware, such a machine stays dead",
  async () => {
    await using other = await makeCard(image, cardBytes);
    await using bare = await startBoard({ card: other, watchdog: false });
    await bare.said("tapdeck: ready");
    void bare.shell("sysctl -q -w kernel.panic=0; echo c >/proc/sysrq-trigger").catch(() => {});
    await bare.said("Kernel panic");
    await bare.silence();
    await Bun.sleep(90_000);
    expect(bare.console().split("tapdeck: ready")).toHaveLength(2);
  },
  2 * patienceMs,
);

/** The watchdog program needs less time than this to notice each of these faults. */
const guardMs = 60_000;

test.if(process.env.THOROUGH === "1")(
  "without the guard, a service that hangs, was killed or is deaf stays so",
  async () => {
    await using other = await makeCard(image, cardBytes);
    await using bare = await startBoard({ card: other, watchdog: false });
    await bare.pong();
    await bare.shell("kill -STOP $(pidof tapdeck-watchdog)");
    const id = await bare.shell(`echo ${service}`);
    await bare.shell(`kill -STOP ${id}`);
    await bare.silence();
    await Bun.sleep(guardMs);
    await bare.silence();
    // No other fault prevented the service from answering.
    await bare.shell(`kill -CONT ${id}`);
    await bare.pong();
    await bare.shell(`kill -KILL ${id}`);
    await bare.silence();
    await Bun.sleep(guardMs);
    await bare.silence();
    await bare.shell(`${deafSettings}; inetd /run/deaf.conf`);
    await Bun.sleep(guardMs);
    expect(await bare.shell("pidof inetd | wc -w")).not.toBe("0");
    await bare.silence();
  },
  3 * patienceMs,
);

/** The machine itself has started once more, and answers. */
async function untilRestarted(): Promise<void> {
  await board.said("tapdeck: ready", ++starts);
  await board.pong();
  board.restarted();
}

/** The number of first pongs that the watchdog got from a service since the machine's start. */
async function answersIn(): Promise<number> {
  return Number(await board.shell("logread | grep -c 'watchdog: the service answers'; true"));
}

/** Breaks the service. Returns the milliseconds until the watchdog and the host get a pong again. */
async function untilAnswersAgain(breaking: string): Promise<number> {
  const before = await until("the log", async () => (await answersIn()) || undefined);
  const from = performance.now();
  await board.shell(breaking);
  await until("the next service", async () => (await answersIn()) > before);
  await board.pong();
  return performance.now() - from;
}
