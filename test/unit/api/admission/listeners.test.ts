/** The plain port: the listeners for each setting, and those that stay while it is shut. */
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import {
  type Handlers,
  listen,
  listenAtPath,
  openPlainPort,
  openTlsPort,
} from "../../../../src/api/admission/listeners.ts";
import { createLog } from "../../../../src/core/log.ts";
import { makeCertificate } from "../../../../src/system/certificate.ts";
import { freePort } from "../../../helpers/free-port.ts";

const handlers: Handlers<unknown> = {
  fetch: () => new Response("here"),
  websocket: { message() {} },
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tapdeck-listen-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const stopAll = (servers: readonly { stop(now: boolean): Promise<void> }[]) =>
  Promise.all(servers.map((server) => server.stop(true)));

const loopback = ["127.0.0.1", "127.0.1.1", "::1"];

test.each([
  [[], ["::"], loopback],
  [["::"], ["::"], loopback],
  [["0.0.0.0"], ["0.0.0.0"], loopback.slice(0, 2)],
  [["127.0.0.1"], [], ["127.0.0.1"]],
  [["::1", "127.0.0.1"], [], ["::1", "127.0.0.1"]],
])(
  "listening on %p, others come in at %p until it is shut, and the device's own at %p in any case",
  async (addresses, others, own) => {
    const port = freePort();
    const entrance = openPlainPort(port, addresses, handlers);
    const hosts = () => entrance.servers().map((server) => server.hostname);
    try {
      expect([entrance.port, hosts()]).toEqual([port, [...others, ...own]]);
      for (let round = 0; round < 3; round++) {
        entrance.shut();
        expect(hosts()).toEqual(own);
        for (const address of own) {
          const host = address.includes(":") ? `[${address}]` : address;
          expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe("here");
        }
        entrance.open();
        expect(hosts()).toEqual([...others, ...own]);
      }
    } finally {
      await Promise.all(entrance.servers().map((server) => server.stop(true)));
    }
  },
);

test("if one of several addresses cannot be had, none stays open behind the error", async () => {
  const port = freePort();
  // 192.0.2.1 is an address for documentation (RFC 5737), which no machine has.
  expect(() => listen(port, ["127.0.0.1", "192.0.2.1"], handlers)).toThrow("cannot listen on 192.0.2.1");
  const again = listen(port, ["127.0.0.1"], handlers);
  await Promise.all(again.map((server) => server.stop(true)));
});

test("a port that somebody else has is not shared", async () => {
  const port = freePort();
  const other = listen(port, ["127.0.0.1"], handlers, "shared");
  try {
    for (const addresses of [[], ["127.0.0.1"], ["0.0.0.0"]])
      expect(() => openPlainPort(port, addresses, handlers)).toThrow(`port ${port} is in use`);
  } finally {
    await Promise.all(other.map((server) => server.stop(true)));
  }
});

test("a port that the system picks is the same at each address", async () => {
  for (const addresses of [[], ["127.0.0.1"], ["0.0.0.0", "127.0.0.1"], ["0.0.0.0"]]) {
    const entrance = openPlainPort(0, addresses, handlers);
    try {
      expect(entrance.port).toBeGreaterThan(0);
      for (const server of entrance.servers()) expect(server.port).toBe(entrance.port);
    } finally {
      await stopAll(entrance.servers());
    }
  }
  const two = listen(0, ["127.0.0.1", "127.0.1.1"], handlers);
  expect(two[1]?.port).toBe(two[0]?.port);
  await stopAll(two);
});

test("a port that somebody has at one IPv6 address is in use, and not taken at IPv4 instead", async () => {
  const port = freePort();
  const other = listen(port, ["::1"], handlers);
  try {
    expect(() => listen(port, [], handlers)).toThrow(`port ${port} is in use`);
  } finally {
    await stopAll(other);
  }
});

test("on a kernel without IPv6 the service listens on all IPv4 addresses", async () => {
  // Bun reports a kernel without IPv6 by this error (socket(2), EAFNOSUPPORT).
  const refusal = Object.assign(new Error("Failed to listen"), { code: "EAFNOSUPPORT" });
  using serve = spyOn(Bun, "serve");
  serve.mockImplementationOnce(() => {
    throw refusal;
  });
  const servers = listen(0, [], handlers);
  expect(servers.map(({ hostname }) => hostname)).toEqual(["0.0.0.0"]);
  expect(await (await fetch(`http://127.0.0.1:${servers[0]?.port}/`)).text()).toBe("here");
  await stopAll(servers);
});

test("a fault of a handler shows the caller nothing of the service", async () => {
  // The listener runs in a process of its own, because the test runner fails on such a fault.
  const program = `
    import { listen } from ${JSON.stringify(join(import.meta.dir, "../../../../src/api/admission/listeners.ts"))};
    const fetch = () => { throw new Error("a secret place"); };
    const [server] = listen(0, ["127.0.0.1"], { fetch, websocket: { message() {} } });
    const answer = await globalThis.fetch(\`http://127.0.0.1:\${server.port}/\`);
    console.log(answer.status, await answer.text());
    process.exit();`;
  const child = Bun.spawn([process.execPath, "-e", program], { stderr: "ignore" });
  const said = await new Response(child.stdout).text();
  expect(said).toStartWith("500 ");
  expect(said).not.toContain("secret");
});

const named = (commonName: string) => {
  const { certificatePem, keyPem } = makeCertificate({
    commonName,
    names: ["localhost"],
    addresses: [Uint8Array.of(127, 0, 0, 1)],
    notBefore: new Date("2020-01-01T00:00:00Z"),
    notAfter: new Date("2051-01-01T00:00:00Z"),
  });
  return { cert: certificatePem, key: keyPem };
};

/** The name in the certificate that the port shows; undefined if nobody listens. */
async function shownAt(port: number): Promise<string | undefined> {
  const shown = Promise.withResolvers<string | undefined>();
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () =>
    shown.resolve(String(socket.getPeerCertificate().subject.CN)),
  );
  socket.on("error", () => shown.resolve(undefined));
  const name = await shown.promise;
  socket.destroy();
  return name;
}

function tlsPort(port: number) {
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  const tls = openTlsPort({ port, ...named("first") }, { log, listen: ["127.0.0.1"] }, handlers);
  return { tls, lines };
}

test("the TLS port shows a new certificate at once, but stays shut if it is shut", async () => {
  const { tls, lines } = tlsPort(0);
  try {
    expect(tls.port).toBeGreaterThan(0);
    expect(await shownAt(tls.port)).toBe("first");
    tls.showCertificate(named("second"));
    expect(await shownAt(tls.port)).toBe("second");
    tls.shut();
    expect([tls.servers(), await shownAt(tls.port)]).toEqual([[], undefined]);
    tls.showCertificate(named("third"));
    expect(await shownAt(tls.port)).toBeUndefined();
    tls.open();
    expect(await shownAt(tls.port)).toBe("third");
    tls.showCertificate(named("fourth"));
    expect(await shownAt(tls.port)).toBe("fourth");
    expect(lines).toEqual([]);
  } finally {
    await stopAll(tls.servers());
  }
});

test("a TLS port that somebody else has is in the log, and the service starts without TLS", async () => {
  const port = freePort();
  const other = listen(port, ["127.0.0.1"], handlers);
  const { tls, lines } = tlsPort(port);
  expect([tls.port, tls.servers()]).toEqual([port, []]);
  expect(lines).toEqual([expect.stringMatching(/^error api: no TLS .*in use/)]);
  expect(() => tls.open()).toThrow(`port ${port} is in use`);
  await stopAll(other);
  tls.open();
  expect(await shownAt(port)).toBe("first");
  await stopAll(tls.servers());
});

test("the socket's file is its owner's alone, and replaces one that an earlier run left behind", async () => {
  const path = join(folder, "tapdeck.sock");
  const before = process.umask();
  for (const isLeft of [false, true]) {
    if (isLeft) writeFileSync(path, "left behind");
    const server = listenAtPath(path, handlers);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await (await fetch("http://localhost/", { unix: path })).text()).toBe("here");
    await server.stop(true);
  }
  expect(process.umask()).toBe(before);
});

test("the name of a socket's file may have 107 bytes, and not one more", async () => {
  const path = join(folder, "s".repeat(107 - Buffer.byteLength(folder) - 1));
  await listenAtPath(path, handlers).stop(true);
  expect(() => listenAtPath(`${path}s`, handlers)).toThrow("its name is longer than 107 bytes");
});
