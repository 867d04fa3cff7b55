/** Attacks by sockets that look like another's: the kernel lets several sockets share an address and port. */
import { expect } from "bun:test";
import { asOtherUser, attackTest, startScene } from "../helpers/attack-scene.ts";
import { port } from "../helpers/device.ts";
import { linesOf } from "../helpers/lines.ts";
import { eventually, run } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

/**
 * Arguments: host, port, source address or "", source port or 0, method, mode. Prints its source port once it is
 * connected, or the reason why it is not, and waits for a line, or the end of its input. Then it calls the method: to
 * `ask`, it prints the answer; to `reset`, it resets the connection at once.
 */
const caller = `
import socket, struct, sys
host, port, source, at, method, how = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5], sys.argv[6]
s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET); s.settimeout(60)
if source: s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind((source, at))
elif at: s.setsockopt(socket.IPPROTO_IP, 51, struct.pack("I", at | (at << 16))) # IP_LOCAL_PORT_RANGE, ip(7).
try: s.connect((host, port))
except OSError as error: print("not connected:", error, flush=True); sys.exit()
print(s.getsockname()[1], flush=True)
sys.stdin.readline()
body = '{"jsonrpc":"2.0","id":1,"method":"%s","params":{"name":"%s %s"}}' % (method, how, host)
s.sendall(("POST /api/v0.1 HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\nConnection: close\\r\\n\\r\\n%s" % (len(body), body)).encode())
if how == "reset": s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); s.close()
else: print(s.recv(65536).decode())
`;

interface From {
  readonly source?: string;
  readonly at?: number;
}

type How = "ask" | "reset";

function calling(host: string, method: string, how: How, { source = "", at = 0 }: From = {}) {
  return ["/usr/bin/python3", "-c", caller, host, String(port), source, String(at), method, how];
}

interface Caller extends AsyncDisposable {
  /** The source port. */
  readonly at: number;
  /** Makes the program call, and resolves with the answer. */
  call(): Promise<string>;
}

/** Connects, and stays connected until disposed. */
async function connected(command: readonly string[]): Promise<Caller> {
  const child = Bun.spawn([...command], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = linesOf(child.stdout);
  const { value } = await lines.next();
  const at = Number(value);
  if (!Number.isInteger(at)) throw new Error(`it is not connected: ${value}`);
  return {
    at,
    async call() {
      child.stdin.write("\n");
      await child.stdin.end();
      return (await Array.fromAsync(lines)).join("\n");
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

attackTest("another user's connection has the port of one of root's, and counts as root's", async () => {
  await using scene = await startScene(noReaders);
  const { network, service } = scene.device;
  const asked: string[] = [];
  for (const how of ["ask", "reset"] as const)
    for (let turn = 1; turn <= 10; turn++) {
      // Each turn uses another address of the service, because the kernel keeps an ended connection for a while.
      const host = `127.${how === "ask" ? 1 : 2}.0.${turn}`;
      const attack = calling(host, "clients.new", how);
      await using attacker = await connected(network.onDevice(asOtherUser(attack)));
      const twin = calling("127.0.0.1", "version", "ask", { at: attacker.at });
      await using roots = await connected(network.onDevice(twin));
      expect(roots.at).toBe(attacker.at);
      asked.push(await attacker.call());
    }
  expect(asked.filter((answer) => answer.includes("forbidden")).length).toBe(10);
  // The answer to this call shows that everything sent before it was processed.
  const last = await run(network.onDevice(asOtherUser(calling("127.0.0.1", "version", "ask"))));
  expect(last.out).toContain("200 OK");
  expect((await service.client.call("clients")).clients).toEqual([]);
});

attackTest(
  "a neighbour takes an address of the device, and the port of a connection that is left there",
  async () => {
    await using scene = await startScene(`[api]\nanonymous = "none"\n${noReaders}`);
    const { network, service } = scene.device;
    const address = "fd77::77";
    const ip = async (via: typeof network.onDevice, ...words: string[]) => {
      const { code, error } = await run(via(["ip", ...words]));
      if (code !== 0) throw new Error(error);
    };
    const linkOf = async (via: typeof network.onDevice) => {
      const { out } = await run(via(["ip", "-o", "-6", "address", "show", "scope", "global"]));
      return out.trim().split(/\s+/)[1] ?? "";
    };
    const [wire, otherEnd] = [await linkOf(network.onDevice), await linkOf(network.onNeighbour)];
    await ip(network.onDevice, "address", "add", `${address}/64`, "dev", wire, "nodad");
    await ip(network.onDevice, "address", "add", "fd77::99/64", "dev", wire, "nodad");
    await using left = await connected(network.onDevice(calling("fd77::1", "", "ask", { source: address })));
    const own = await run(network.onDevice(calling("fd77::1", "clients", "ask", { source: address })));
    expect(own.out).toContain('"clients":[]');
    // The device gives the address up, and finds later that the neighbour uses it.
    await ip(network.onDevice, "address", "delete", `${address}/64`, "dev", wire);
    await ip(network.onNeighbour, "address", "add", `${address}/64`, "dev", otherEnd, "nodad");
    await ip(network.onDevice, "address", "add", `${address}/64`, "dev", wire);
    await eventually(async () =>
      expect((await run(network.onDevice(["ip", "-6", "address", "show"]))).out).toContain("dadfailed"),
    );
    const theirs = calling("fd77::99", "clients.new", "ask", { source: address, at: left.at });
    await eventually(async () => {
      await run(network.onNeighbour(["ip", "-6", "neigh", "flush", "all"]));
      const { out } = await run(network.onNeighbour(theirs));
      if (!out.includes("HTTP/1.1")) return false; // The kernel still looks for its neighbour.
      expect(out).toContain("encryption-required");
      return true;
    });
    expect((await service.client.call("clients")).clients).toEqual([]);
  },
);
