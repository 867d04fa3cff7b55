/** An attack on the access of everybody else: one address floods TLS. */
import { expect } from "bun:test";
import { attackTest, startScene, urls } from "../helpers/attack-scene.ts";
import { tlsPort } from "../helpers/device.ts";
import { linesOf } from "../helpers/lines.ts";
import { noReaders } from "../helpers/tapdeck.ts";

/**
 * Words: host, port, source address. Asks over TLS, each time by a new connection, until the kernel does not answer any
 * more. Then it prints `refused` and the number of answers, and `admitted` once a connection is answered again.
 */
const flooder = `
import socket, ssl, sys
host, port, source = sys.argv[1], int(sys.argv[2]), sys.argv[3]
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
def ask(seconds):
  s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET); s.settimeout(seconds); s.bind((source, 0))
  s.connect((host, port))
  with context.wrap_socket(s) as t:
    t.settimeout(30)
    t.sendall(b"GET /ping HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
    return t.recv(100)
answered = 0
while True:
  try: ask(3); answered += 1
  except TimeoutError: break
  except OSError: continue # The door is shut, or was while this waited.
print("refused", answered, flush=True)
while True:
  try: ask(30); break
  except OSError: continue
print("admitted", flush=True)
`;

const othersAskMax = 120; // By 40 addresses, each of which may ask 20 times in a burst.

attackTest("one address floods TLS, and nobody else comes in any more", async () => {
  await using scene = await startScene(noReaders);
  const { network } = scene.device;
  for (const [host, source] of [
    ["10.77.0.1", "10.77.0.2"],
    ["fd77::1", "fd77::2"],
  ] as const) {
    const words = ["/usr/bin/python3", "-c", flooder, host, String(tlsPort), source];
    await using made = new AsyncDisposableStack();
    const flood = Bun.spawn([...network.onNeighbour(words)], { stdio: ["ignore", "pipe", "ignore"] });
    made.defer(async () => {
      flood.kill();
      await flood.exited;
    });
    const lines = linesOf(flood.stdout);
    const told = { refused: false };
    const refused = lines.next().then(({ value }) => {
      told.refused = true;
      return value;
    });
    // Other callers have addresses of their own and ask in turn, slowly enough not to be refused themselves.
    const ask = async () => (await scene.neighbour.ask({ url: `${urls.tls}/../../ping` })).status;
    for (let times = 0; times < othersAskMax && !told.refused; times++) expect(await ask()).toBe(200);
    expect(await refused).toMatch(/^refused \d+$/);
    expect(await ask()).toBe(200);
    expect((await lines.next()).value).toBe("admitted");
  }
});
