/** An attack on the access of all others: one address floods TLS. */
import { expect } from "bun:test";
import { attackTest, startScene, urls } from "../helpers/attack-scene.ts";
import { tlsPort } from "../helpers/device.ts";
import { linesOf } from "../helpers/lines.ts";
import { startPeer, wordOf } from "../helpers/peer.ts";
import { eventually } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

/**
 * Arguments: host, port, source address. Eight threads ask over TLS, each time by a new connection. Each change of the outcome is
 * printed: `refused` by the service, or `shut`, if the port accepts no connection.
 */
const flooder = `
import socket, ssl, sys, threading, time
host, port, source = sys.argv[1], int(sys.argv[2]), sys.argv[3]
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
lock = threading.Lock()
last = ""
def say(word):
  global last
  with lock:
    if word != last: print(word, flush=True)
    last = word
def ask():
  s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET); s.settimeout(30); s.bind((source, 0))
  with s:
    s.connect((host, port))
    with context.wrap_socket(s) as t:
      t.sendall(b"GET /ping HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
      return t.recv(100)
def flood():
  while True:
    try:
      if b" 429 " in ask(): say("refused")
    except OSError:
      say("shut")
for _ in range(8): threading.Thread(target=flood, daemon=True).start()
while True: time.sleep(60)
`;

const rounds = 4;
const patienceMs = 20_000; // The longest wait for a new connection; the service shuts the port for a second at a time.

attackTest("one address floods TLS, and nobody else comes in any more", async () => {
  await using scene = await startScene(noReaders);
  const { network } = scene.device;
  const member = await scene.sealed(await scene.client("member"), urls.wss);
  for (const [host, source, url] of [
    ["10.77.0.1", "10.77.0.2", urls.tls],
    ["fd77::1", "fd77::2", `https://[fd77::1]:${tlsPort}/api/v0.1`],
  ] as const) {
    const words = ["/usr/bin/python3", "-c", flooder, host, String(tlsPort), source];
    await using made = new AsyncDisposableStack();
    const flood = Bun.spawn([...network.onNeighbour(words)], { stdio: ["ignore", "pipe", "inherit"] });
    const end = async () => {
      flood.kill();
      await flood.exited;
    };
    made.defer(end);
    const lines = linesOf(flood.stdout);
    for (let round = 0; round < rounds; round++) {
      expect((await lines.next()).value).toBe("refused");
      expect((await lines.next()).value).toBe("shut");
      expect(wordOf(await member.call("mappings"))).toBe("result");
      expect(await scene.launch(`**echo:${host} ${round}`)).toBe("done");
      // Other callers have addresses of their own, and try again until the port is open.
      await eventually(async () => {
        expect((await scene.neighbour.ask({ url: `${urls.tls}/../../ping` })).status).toBe(200);
      }, patienceMs);
    }
    await end();
    const flooderItself = made.use(startPeer(network.onNeighbour, [source]));
    await eventually(async () =>
      expect((await flooderItself.ask({ url: `${url}/../../ping` })).status).toBe(200),
    );
  }
});
