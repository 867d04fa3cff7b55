/** The plain port: which listeners there are for which setting, and which of them stay while it is shut. */
import { expect, test } from "bun:test";
import { type Handlers, listen, openPlainPort } from "../../../../src/api/admission/listeners.ts";
import { freePort } from "../../../helpers/free-port.ts";

const handlers: Handlers<unknown> = {
  fetch: () => new Response("here"),
  websocket: { message() {} },
};

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

test("where one of several addresses cannot be had, none stays open behind the error", async () => {
  const port = freePort();
  // Of a network for documents (RFC 5737): nobody has it.
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
