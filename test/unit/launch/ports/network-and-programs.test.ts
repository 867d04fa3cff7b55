/**
 * The effects of scripts outside the device: real servers on loopback addresses, real programs, and every way to
 * circumvent the lists.
 */
import { afterEach, expect, test } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../../../src/config/shape.ts";
import { ServiceError } from "../../../../src/core/errors.ts";
import {
  executeOutputBytesMax,
  webBodyBytesMax,
  webHeadBytesMax,
  webRedirectsMax,
} from "../../../../src/core/limits.ts";
import { createLog } from "../../../../src/core/log.ts";
import { commandLine, createOutside } from "../../../../src/launch/ports/network-and-programs.ts";
import { isOwnAddress, reachOf } from "../../../../src/system/addresses.ts";
import { runProgram } from "../../../../src/system/program.ts";
import { createWebClient } from "../../../../src/system/web-request.ts";
import { defaultConfig } from "../../../helpers/defaults.ts";
import { eventually, liveMembers } from "../../../helpers/processes.ts";

const never = new AbortController().signal;
const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

test.each([
  ["127.0.0.1", "loopback"],
  ["127.255.255.254", "loopback"],
  ["0.0.0.0", "loopback"],
  ["::1", "loopback"],
  ["::", "loopback"],
  ["::ffff:127.0.0.1", "loopback"],
  ["::ffff:7f00:1", "loopback"],
  ["::127.0.0.1", "loopback"],
  ["64:ff9b::7f00:1", "loopback"],
  ["2002:7f00:1::", "loopback"],
  ["169.254.169.254", "link-local"],
  ["fe80::1", "link-local"],
  ["fe80::1%eth0", "link-local"],
  ["10.0.0.1", "private"],
  ["172.16.0.1", "private"],
  ["172.31.255.255", "private"],
  ["192.168.1.1", "private"],
  ["100.64.0.1", "private"],
  ["fd00::1", "private"],
  ["::ffff:192.168.1.1", "private"],
  ["2002:c0a8:101::", "private"],
  ["224.0.0.251", "special"],
  ["255.255.255.255", "special"],
  ["ff02::fb", "special"],
  ["2001:db8::1", "special"],
  ["93.184.216.34", "public"],
  ["172.32.0.1", "public"],
  ["2606:2800:220:1::1", "public"],
  ["::ffff:93.184.216.34", "public"],
] as const)("%s is %s", (address, reach) => {
  expect(reachOf(address)).toBe(reach);
});

test("an address of this device is known in any spelling", () => {
  expect(["127.0.0.1", "::1", "::ffff:127.0.0.1", "0:0:0:0:0:0:0:1"].map(isOwnAddress)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(isOwnAddress("192.0.2.1")).toBe(false);
});

type Answer = (request: string, socket: Socket) => void;

/** A server that notes each request; `answer` is its reply, or a text that is the reply. */
async function serve(answer: string | Answer, host = "127.0.0.1") {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}); // The other side may leave early, because some tests do that.
    socket.on("close", () => sockets.delete(socket));
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes;
      const [head = "", body = ""] = text.split("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (!text.includes("\r\n\r\n") || Buffer.byteLength(body) < length) return;
      asked.push(text);
      if (typeof answer === "string") socket.write(answer);
      else answer(text, socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { asked, sockets, port, origin: `http://${host}:${port}` };
}

const ok = "HTTP/1.1 204 No Content\r\n\r\n";

/** A client that may call every URL that one of the patterns matches, as plain regular expressions. */
function client(patterns: readonly string[], more: Partial<Parameters<typeof createWebClient>[0]> = {}) {
  return createWebClient({
    listed: (url) => patterns.filter((pattern) => new RegExp(`^(?:${pattern})$`).test(url.href)),
    how: "add a pattern for the whole address to script.allow_http in the config file",
    entry: "a pattern of script.allow_http",
    ownPorts: () => [],
    resolve: async (host) => {
      throw new Error(`no address for ${host}`);
    },
    ...more,
  });
}

const local = "http://127\\.0\\.0\\.1:\\d+/.*";
const get = (url: string) => ({ method: "GET", url }) as const;

test("a GET asks for the whole path and query, and names its host", async () => {
  const server = await serve(ok);
  await client([local]).request(get(`${server.origin}/a%20b?c=d#e`), never);
  expect(server.asked[0]?.split("\r\n").slice(0, 2)).toEqual([
    "GET /a%20b?c=d HTTP/1.1",
    `Host: 127.0.0.1:${server.port}`,
  ]);
});

test("a POST sends its type and its body", async () => {
  const server = await serve(ok);
  const content = { type: "text/plain; charset=utf-8", body: "é, ü" };
  await client([local]).request({ method: "POST", url: `${server.origin}/`, content }, never);
  expect(server.asked[0]).toMatch(/^POST \/ HTTP\/1\.1\r\n/);
  expect(server.asked[0]).toContain(
    "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 6\r\n\r\né, ü",
  );
});

test("a content type cannot smuggle in a line", async () => {
  const server = await serve(ok);
  const content = { type: "text/plain\r\nX-Evil: 1", body: "" };
  const run = client([local]).request({ method: "POST", url: `${server.origin}/`, content }, never);
  await expect(run).rejects.toThrow("a content type is written in plain letters");
  expect(server.asked).toEqual([]);
});

test.each([
  ["with a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"],
  ["without a body", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"],
  ["in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"],
  ["in no chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
  [
    "after an announcement",
    "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
  ],
])("an answer %s is understood, in one piece or byte by byte", async (_how, answer) => {
  const whole = await serve(answer);
  await client([local]).request(get(`${whole.origin}/`), never);
  const split = await serve(async (_request, socket) => {
    for (const byte of answer) {
      socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  await client([local]).request(get(`${split.origin}/`), never);
});

const station = "ICY 200 OK\r\nicy-metaint:5\r\n\r\nhello";

test.each([
  ["of SHOUTcast", station, "5"],
  ["in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", undefined],
])("a stream %s is opened, in one piece or byte by byte", async (_how, answer, interval) => {
  for (const pieces of [[answer], [...answer]]) {
    const server = await serve(async (_request, socket) => {
      for (const piece of pieces) {
        socket.write(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
      socket.end();
    });
    const body = await client([local]).open(`${server.origin}/radio`, never);
    expect(server.asked[0]).toContain("Icy-MetaData: 1\r\n");
    expect(body.fields.get("icy-metaint")).toBe(interval);
    const heard = await Array.fromAsync(body.chunks);
    expect(Buffer.concat(heard).toString()).toBe("hello");
  }
});

test("a stream that is lost before its reader begins ends that reader only", async () => {
  const server = await serve((_request, socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
    setImmediate(() => socket.resetAndDestroy());
  });
  const body = await client([local]).open(`${server.origin}/radio`, never);
  await eventually(() => expect(server.sockets.size).toBe(0));
  await new Promise((resolve) => setImmediate(resolve));
  await expect(Array.fromAsync(body.chunks)).rejects.toThrow();
});

test("an abort after the head of a stream does not end the stream", async () => {
  const abort = new AbortController();
  const server = await serve((_request, socket) => socket.write(station));
  const body = await client([local]).open(`${server.origin}/radio`, abort.signal);
  abort.abort(new ServiceError("failed", "it was stopped"));
  for (const socket of server.sockets) socket.end("more");
  expect(Buffer.concat(await Array.fromAsync(body.chunks)).toString()).toBe("hellomore");
});

test("an answer that ends with its connection is understood", async () => {
  const server = await serve((_request, socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nhello"));
  await client([local]).request(get(`${server.origin}/`), never);
});

test.each([
  ["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", /answered with the code 404/],
  ["HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", /answered with the code 500/],
  ["HTTP/1.1 304 Not Modified\r\n\r\n", /answered with the code 304/],
  ["HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", /answered with the code 302/],
  ["SSH-2.0-OpenSSH_9\r\n\r\n", /did not answer in HTTP/],
  [`HTTP/1.1 200 OK\r\nX: ${"x".repeat(webHeadBytesMax)}`, /a head of more than 16384 bytes/],
  [`HTTP/1.1 200 OK\r\n\r\n${"x".repeat(webBodyBytesMax + 1)}`, /more than 1048576 bytes/],
])("an answer of %.30p is a failure that says so", async (answer, sentence) => {
  const server = await serve(answer);
  await expect(client([local]).request(get(`${server.origin}/`), never)).rejects.toThrow(sentence);
});

test.each(["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"])(
  "a connection that closes after %p is a failure",
  async (answer) => {
    const server = await serve((_request, socket) => socket.end(answer));
    await expect(client([local]).request(get(`${server.origin}/`), never)).rejects.toThrow(
      /closed the connection/,
    );
  },
);

test("a server that never answers is given up, and its connection is closed", async () => {
  const server = await serve(() => {});
  const run = client([local], { msMax: 100 }).request(get(`${server.origin}/`), never);
  await expect(run).rejects.toThrow(/did not answer within 0\.1 s/);
  await eventually(() => expect(server.sockets.size).toBe(0));
});

test("a server that never ends its answer is given up", async () => {
  const server = await serve("HTTP/1.1 200 OK\r\n\r\nx");
  const run = client([local], { msMax: 100 }).request(get(`${server.origin}/`), never);
  await expect(run).rejects.toThrow(/did not answer within/);
});

test("a name service that never answers is given up", async () => {
  const run = client([".*"], { msMax: 100, resolve: () => new Promise(() => {}) }).request(
    get("http://a.example/"),
    never,
  );
  await expect(run).rejects.toThrow(/did not answer within/);
});

test("an abort closes the connection at once", async () => {
  const abort = new AbortController();
  const server = await serve(() => abort.abort(new ServiceError("failed", "it was stopped")));
  await expect(client([local]).request(get(`${server.origin}/`), abort.signal)).rejects.toThrow(
    "it was stopped",
  );
  await eventually(() => expect(server.sockets.size).toBe(0));
});

test("a port where nobody listens is a failure that names the host", async () => {
  const server = await serve(ok);
  await closing.pop()?.();
  await expect(client([local]).request(get(`${server.origin}/`), never)).rejects.toThrow(
    /could not be reached/,
  );
});

test("redirects are followed as far as the list goes: a POST becomes a GET, but for 307", async () => {
  for (const [code, method] of [
    [302, "GET"],
    [307, "POST"],
  ] as const) {
    const server = await serve((request, socket) =>
      socket.write(
        request.includes(" /there ")
          ? ok
          : `HTTP/1.1 ${code} Go\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n`,
      ),
    );
    const content = { type: "text/plain", body: "x" };
    await client([local]).request({ method: "POST", url: `${server.origin}/here`, content }, never);
    expect(server.asked.map((text) => text.split(" HTTP")[0])).toEqual(["POST /here", `${method} /there`]);
  }
});

test("a redirect away from the list is refused", async () => {
  const inner = await serve(ok);
  const outer = await serve(`HTTP/1.1 302 Go\r\nLocation: ${inner.origin}/\r\nContent-Length: 0\r\n\r\n`);
  const run = client([`http://127\\.0\\.0\\.1:${outer.port}/.*`]).request(get(`${outer.origin}/`), never);
  await expect(run).rejects.toMatchObject({ code: "forbidden" });
  expect(inner.asked).toEqual([]);
});

test("redirects in a ring end", async () => {
  const server = await serve("HTTP/1.1 302 Go\r\nLocation: /\r\nContent-Length: 0\r\n\r\n");
  await expect(client([local]).request(get(`${server.origin}/`), never)).rejects.toThrow(/more than 5 times/);
  expect(server.asked.length).toBe(webRedirectsMax + 1);
});

test.each([
  ["http://127.0.0.1/", "http://.*", /this device itself/],
  ["http://2130706433/", "http://.*", /this device itself/],
  ["http://0x7f.1/", "http://.*", /this device itself/],
  ["http://0/", "http://.*", /this device itself/],
  ["http://[::1]/", "http://.*", /this device itself/],
  ["http://[::ffff:127.0.0.1]/", "http://.*", /this device itself/],
  ["http://169.254.169.254/latest/", "http://.*", /the devices on this cable/],
  ["http://192.168.1.1/", "http://.*", /the home network/],
  ["http://10.1.2.3/", "http://10\\..*", /the home network/],
  ["http://10.1.2.3/", "http://110\\.1\\.2\\.3/.*|.*", /the home network/],
  ["http://224.0.0.251/", "http://.*", /no server/],
])("%s is not opened by the pattern %s", async (url, pattern, sentence) => {
  await expect(client([pattern]).request(get(url), never)).rejects.toThrow(sentence);
});

test.each([
  ["localhost", "127.0.0.1", ".*", false],
  ["localhost", "127.0.0.1", "http://localhost/.*", true],
  ["hub.local", "192.0.2.1", "http://hub\\.local/.*", false],
  ["hub.local", "127.0.0.1", "http://hub\\.local/.*", false],
  ["evil.example.com", "127.0.0.1", "http://evil\\.example\\.com/.*", false],
  ["evil.example.com", "10.0.0.1", "http://evil\\.example\\.com/.*", false],
  ["evil.example.com", "::ffff:10.0.0.1", "http://evil\\.example\\.com/.*", false],
  ["nas", "127.0.0.1", "http://nas2?/.*", false],
])("the name %s at %s with the pattern %s: %p", async (host, address, pattern, isOpen) => {
  const run = client([pattern], { resolve: async () => [address], msMax: 500 }).request(
    get(`http://${host}/`),
    never,
  );
  // A redirect to a port on which nobody listens.
  await expect(run).rejects.toMatchObject({ code: isOpen ? "failed" : "forbidden" });
});

test("a name with one address that is not allowed is refused as a whole", async () => {
  const resolve = async () => ["93.184.216.34", "127.0.0.1"];
  await expect(client([".*"], { resolve }).request(get("http://a.example/"), never)).rejects.toMatchObject({
    code: "forbidden",
  });
});

test("the connection goes to the address that was looked at, and the name is asked for once", async () => {
  const server = await serve(ok, "127.0.0.2");
  let times = 0;
  const resolve = async () => [++times === 1 ? "127.0.0.2" : "127.0.0.3"];
  await client(["http://localhost:\\d+/.*"], { resolve }).request(
    get(`http://localhost:${server.port}/`),
    never,
  );
  expect(times).toBe(1);
  expect(server.asked[0]).toContain(`Host: localhost:${server.port}\r\n`);
});

test("if an address of a name cannot be reached, the next is tried", async () => {
  const server = await serve(ok, "127.0.0.2");
  const resolve = async () => ["127.0.0.9", "127.0.0.2"];
  await client(["http://localhost:\\d+/.*"], { resolve }).request(
    get(`http://localhost:${server.port}/`),
    never,
  );
  expect(server.asked.length).toBe(1);
});

test("our own port is opened by no pattern that does not name it", async () => {
  const server = await serve(ok);
  const more = { ownPorts: () => [server.port] };
  await expect(client([local], more).request(get(`${server.origin}/`), never)).rejects.toThrow(
    /leads to Tapdeck itself/,
  );
  await client([`http://127\\.0\\.0\\.1:${server.port}/.*`], more).request(get(`${server.origin}/`), never);
  expect(server.asked.length).toBe(1);
});

test.each(["ftp://a/", "file:///etc/passwd", "a", "", "http://", "javascript:x"])(
  "%p is no address",
  async (url) => {
    await expect(client([".*"]).request(get(url), never)).rejects.toThrow(/is no address/);
  },
);

test("an address with a password is refused", async () => {
  await expect(client([".*"]).request(get("http://a:b@127.0.0.1/"), never)).rejects.toThrow(/no password/);
});

async function overTls(trusted: boolean, ...names: readonly string[]) {
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "../../../programs/https-child.ts"), ...names],
    {
      env: { ...process.env, ...(trusted ? { NODE_EXTRA_CA_CERTS: certificate } : {}) },
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  return JSON.parse(await new Response(child.stdout).text());
}
const certificate = join(import.meta.dir, "../../../vectors/tls-right.local.pem");

test("over TLS the certificate must be for the name that was asked for, whatever the address", async () => {
  const { ends, hosts } = await overTls(true, "right.local", "wrong.local", "127.0.0.1");
  expect(ends).toEqual({
    "right.local": "204",
    "wrong.local": expect.stringMatching(/does not match certificate/),
    "127.0.0.1": expect.stringMatching(/does not match certificate/),
  });
  expect(hosts).toEqual(["Host: right.local"]);
});

test("over TLS a certificate that nobody vouches for is refused", async () => {
  const { ends, hosts } = await overTls(false, "right.local");
  expect(ends["right.local"]).toMatch(/could not be reached: self.signed certificate/);
  expect(hosts).toEqual([]);
});

async function outside(script: Partial<Config["script"]>) {
  const lines: string[] = [];
  const log = createLog({ debug: true, write: (line) => lines.push(line) });
  const config = { ...defaultConfig, script: { ...defaultConfig.script, ...script } };
  return { lines, ports: createOutside({ config: () => config, log }) };
}

test("nothing is allowed until it is listed", async () => {
  const { ports } = await outside({});
  await expect(ports.execute(["/bin/true"], never)).rejects.toMatchObject({ code: "forbidden" });
  await expect(ports.request(get("http://127.0.0.1/"), never)).rejects.toMatchObject({ code: "forbidden" });
});

test("a pattern must match the whole command line, line by line or not", async () => {
  const { ports } = await outside({ allowExecute: ["/bin/true", "(?m)^/bin/true$"] });
  await ports.execute(["/bin/true"], never);
  for (const argv of [
    ["/bin/true", "x"],
    ["/bin/true\nx"],
    ["x\n/bin/true"],
    ["/bin/tru"],
    ["/bin/true", ""],
  ])
    await expect(ports.execute(argv, never)).rejects.toMatchObject({ code: "forbidden" });
});

test("two command lines that differ look different to a pattern", () => {
  const lines = [
    ["a", "b c"],
    ["a", "b", "c"],
    ["a b", "c"],
    ["a", '"b', 'c"'],
    ["a", "b", "c", ""],
    ["a", "b\\", "c"],
  ];
  expect(lines.map(commandLine)).toEqual([
    'a "b c"',
    "a b c",
    '"a b" c',
    'a "\\"b" "c\\""',
    'a b c ""',
    'a "b\\\\" c',
  ]);
});

test("a program gets its arguments as they are, and no shell", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-execute-"));
  closing.push(() => rm(folder, { recursive: true }));
  const { ports } = await outside({ allowExecute: ["/bin/cp .*"] });
  await ports.execute(["/bin/cp", "/etc/hostname", join(folder, "$(id); x")], never);
  expect(await readFile(join(folder, "$(id); x"), "utf8")).toBe(await readFile("/etc/hostname", "utf8"));
});

test("a program that fails is a failure with its code and the last line that it wrote", async () => {
  const { ports } = await outside({ allowExecute: [".*"] });
  await expect(ports.execute(["/bin/sh", "-c", "echo one >&2; echo two >&2; exit 3"], never)).rejects.toThrow(
    "/bin/sh ended with code 3: two",
  );
  await expect(ports.execute(["/no/such/program"], never)).rejects.toThrow(/there is no such program/);
});

test("a program that runs too long is ended with all that it started", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-execute-"));
  closing.push(() => rm(folder, { recursive: true }));
  const argv = ["/bin/sh", "-c", `trap '' TERM; sleep 60 & echo $$ > ${folder}/pid; wait`];
  let pid = 0;
  // If the program was ended before it wrote its id, the next try gives it more time.
  for (let ms = 300; pid === 0; ms *= 4) {
    await expect(runProgram(argv, never, ms)).rejects.toThrow(`ran for longer than ${ms / 1000} s`);
    pid = Number(await readFile(join(folder, "pid"), "utf8").catch(() => ""));
  }
  await eventually(async () => expect(await liveMembers(pid)).toEqual([]));
});

test("an abort ends a program at once", async () => {
  const abort = new AbortController();
  const run = runProgram(["/bin/sleep", "60"], abort.signal);
  abort.abort(new ServiceError("failed", "it was stopped"));
  await expect(run).rejects.toThrow("it was stopped");
});

test("a process that a program forks and forgets does not outlive it", async () => {
  const { output } = await runProgram(["/bin/sh", "-c", "sleep 60 & echo $$"], never);
  await eventually(async () => expect(await liveMembers(Number(output))).toEqual([]));
});

test("a program is not waited for because something of it left its group and holds its output open", async () => {
  const { output } = await runProgram(["/bin/sh", "-c", "setsid sleep 60 & echo $!"], never);
  const pid = Number(output);
  expect(pid).toBeGreaterThan(1);
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The child ended with the group before it could leave the group.
  }
});

test("of a program that writes without end, the beginning is kept and the rest dropped", async () => {
  const { output, exitCode } = await runProgram(
    ["/bin/sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x"],
    never,
  );
  expect({ exitCode, length: output.length }).toEqual({ exitCode: 0, length: executeOutputBytesMax / 2 });
});
