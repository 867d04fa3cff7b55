/**
 * Players of the compiled program that call it: by the socket in the file system, over loopback and over TLS, in
 * different disguises. A player is not treated as an owner anywhere. An ordinary program that makes the same calls is.
 */
import { expect, test } from "bun:test";
import { chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../helpers/free-port.ts";
import { linesOf } from "../helpers/lines.ts";
import { eventually, eventuallyExists, run } from "../helpers/processes.ts";
import { makePlace, noReaders, program, startTapdeck } from "../helpers/tapdeck.ts";

const isRoot = process.getuid?.() === 0;
const canRun = Bun.which("python3", { PATH: "/usr/bin" }) !== null;
// A user that no other run of the tests uses. A player that hides its descriptors makes all callers of its user
// uncertain.
const otherUser = 20_000 + (process.pid % 10_000);
const asUser = (uid: number | undefined) =>
  uid === undefined ? [] : ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--"];
const script = join(import.meta.dir, "../programs/player-doors.py");

/** Accepts connections, takes a descriptor from each, and keeps it. */
const keeper = `
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", flush=True)
kept = []
while True:
    line, _ = listener.accept()
    kept.append(socket.recv_fds(line, 1, 1))
    line.send(b"y")
`;

type Found = Readonly<Record<string, string>>;

/** The service runs as the present user and, if that is root, as another one. */
const users = isRoot ? [undefined, otherUser] : [undefined];

const ways = [
  "plainly",
  "as a daemon without an environment",
  "in a child",
  "after raising its limits",
  "hidden from other processes",
  "with a copy at an innocent process",
  "over connections of a child that has ended",
  "while no process holds the connection",
  "as root of a user namespace",
];

for (const uid of users) {
  const name = uid === otherUser ? "a user of its own" : isRoot ? "root" : "this user";
  test.skipIf(!canRun)(`an ordinary program is the owner at each door of a service of ${name}`, async () => {
    await using scene = await startScene(uid);
    const found = await scene.byProgram("plainly");
    expect(found).toEqual(Object.fromEntries(Object.keys(refusals).map((door) => [door, "owner"])));
  });

  // Each way has a service of its own, because all players together may send only 20 requests in a burst.
  for (const way of ways)
    test.skipIf(!canRun)(`a player of ${name} is a stranger at each door: ${way}`, async () => {
      await using scene = await startScene(uid);
      const found = await scene.byPlayer(way);
      expect(Object.keys(found)).not.toEqual([]);
      expect(found).toEqual(
        Object.fromEntries(Object.keys(found).map((door) => [door, refusals[door] ?? ""])),
      );
    });

  test.skipIf(!canRun)(
    `a player of ${name} in a network of its own reaches only the socket's file`,
    async () => {
      await using scene = await startScene(uid);
      const reached = (door: string) => door.startsWith("socket file");
      expect(await scene.byPlayer("in a network namespace")).toEqual(
        Object.fromEntries(
          Object.keys(refusals).map((door) => [door, reached(door) ? "403" : "no connection"]),
        ),
      );
    },
  );
}

/** Tries to listen at the port in each form, and writes a line for each. */
const sharer = `
import os, socket, sys
port, order = int(sys.argv[1]), sys.argv[2]
found = []
for option in socket.SO_REUSEADDR, socket.SO_REUSEPORT:
    for address in "127.0.0.1", "0.0.0.0", "::1", "::":
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as line:
            try:
                line.setsockopt(socket.SOL_SOCKET, option, 1)
                line.bind((address, port))
                line.listen()
                found.append(f"listens at {address} with option {option}")
            except OSError:
                pass
with open(f"{order}.new", "w") as report:
    report.write("\\n".join(found))
os.rename(f"{order}.new", f"{order}.report")
`;

for (const listen of [`[]`, `["127.0.0.1", "::1"]`])
  test.skipIf(!canRun)(`a player cannot listen beside a service that listens at ${listen}`, async () => {
    await using place = await makePlace();
    const command = ["/usr/bin/python3", "-c", sharer, String(place.port), "{path}"];
    await writeFile(
      join(place.folder, "config.toml"),
      `[api]\nport = ${place.port}\ntls_port = 0\nlisten = ${listen}\n${noReaders}
[[launchers]]\nid = "doors"\nextensions = [".doors"]\ncommand = ${JSON.stringify(command)}\n`,
    );
    await using service = await startTapdeck(place);
    const order = await place.file("share.doors", "");
    await service.client.call("launch", order);
    await eventuallyExists(`${order}.report`);
    expect(await readFile(`${order}.report`, "utf8")).toBe("");
  });

/** Leaves the service and listens at the port as soon as it is free. */
const survivor = `
import os, socket, sys, time
port, order = int(sys.argv[1]), sys.argv[2]
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.close(1)
os.close(2)
with open(f"{order}.began", "w") as began:
    began.write(str(os.getpid()))
for _ in range(3000):
    try:
        line = socket.socket(socket.AF_INET6)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        line.bind(("::", port))
        line.listen()
        break
    except OSError:
        line.close()
        time.sleep(0.01)
with open(f"{order}.report", "w"):
    pass
time.sleep(60)
`;

test.skipIf(!canRun)(
  "a player outlived its service, and its port kept the next one from starting",
  async () => {
    await using place = await makePlace();
    const command = ["env", "--ignore-environment", "/usr/bin/python3", "-c", survivor];
    await writeFile(
      join(place.folder, "config.toml"),
      `[api]\nport = ${place.port}\ntls_port = 0\n${noReaders}
[[launchers]]\nid = "doors"\nextensions = [".doors"]\ncommand = ${JSON.stringify([...command, String(place.port), "{path}"])}\n`,
    );
    const first = await startTapdeck(place);
    const order = await place.file("outlive.doors", "");
    await first.client.call("launch", order);
    await eventuallyExists(`${order}.began`);
    process.kill(first.pid, "SIGKILL");
    first.client.close();
    await eventuallyExists(`${order}.report`);
    await using second = await startTapdeck(place);
    expect(await second.client.call("version")).toMatchObject({ platform: "linux" });
    await eventually(() =>
      expect(second.log()).toContain("a player that outlived its service held the port, and is ended"),
    );
  },
);

const refusals: Found = {
  "socket file, POST": "403",
  "socket file, WebSocket": "403",
  "socket file, backup": "403",
  "IPv4, POST": "403",
  "IPv4, WebSocket": "encryption-required",
  "IPv4, backup": "403",
  "IPv6, POST": "403",
  "IPv6, WebSocket": "encryption-required",
  "IPv6, backup": "403",
  "TLS, POST": "stranger",
  "TLS, WebSocket": "stranger",
  "TLS, backup": "403",
};

/** A service of that user, with a launcher that makes the calls, and beside it a process that keeps descriptors. */
async function startScene(uid: number | undefined) {
  await using made = new AsyncDisposableStack();
  const place = made.use(await makePlace());
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-doors-"));
  made.defer(() => rm(folder, { recursive: true, force: true }));
  if (uid !== undefined)
    for (const path of [place.folder, join(place.folder, "media"), folder]) await chown(path, uid, uid);
  const [tlsPort, innocent] = [freePort(), join(folder, "keeper.sock")];
  const caller = (order: string) => {
    return ["/usr/bin/python3", script, place.folder, String(place.port), String(tlsPort), order, innocent];
  };
  await writeFile(
    join(place.folder, "config.toml"),
    `[api]\nport = ${place.port}\ntls_port = ${tlsPort}\nlisten = ["127.0.0.1", "::1"]\n${noReaders}
[[launchers]]\nid = "doors"\nextensions = [".doors"]\ncommand = ${JSON.stringify(caller("{path}"))}\n`,
  );
  const keeping = Bun.spawn([...asUser(uid), "/usr/bin/python3", "-c", keeper, innocent], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  made.defer(async () => {
    keeping.kill();
    await keeping.exited;
  });
  const isReady = (await linesOf(keeping.stdout).next()).value;
  expect(isReady).toBe("ready");
  const { client } = made.use(await startTapdeck(place, [...asUser(uid), program]));
  const moved = made.move();
  return {
    async byProgram(way: string): Promise<Found> {
      const order = join(folder, "order");
      await writeFile(order, way);
      expect(await run([...asUser(uid), ...caller(order)])).toMatchObject({ code: 0, error: "" });
      return JSON.parse(await readFile(`${order}.report`, "utf8"));
    },
    async byPlayer(way: string): Promise<Found> {
      const order = await place.file(`${way}.doors`, way);
      await client.call("launch", order);
      await eventuallyExists(`${order}.report`);
      return JSON.parse(await readFile(`${order}.report`, "utf8"));
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}
