/**
 * A TLS server on 127.0.0.1 with the certificate of `test/vectors`, and requests to it by the given names; prints the
 * end of each, as JSON. It runs in a process of its own, because a process reads its trusted certificates at its start
 * (NODE_EXTRA_CA_CERTS).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "node:tls";
import { messageOf } from "../../src/core/errors.ts";
import { openBody } from "../../src/system/http-exchange.ts";

const pem = readFileSync(join(import.meta.dir, "../vectors/tls-right.local.pem"), "utf8");
const asked: string[] = [];
const server = createServer({ key: pem, cert: pem }, (socket) => {
  socket.on("error", () => {}); // The client leaves as soon as it has its answer.
  socket.on("data", (bytes) => {
    asked.push(String(bytes).split("\r\n")[1] ?? "");
    socket.end("HTTP/1.1 204 No Content\r\n\r\n");
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = server.address();
const port = typeof address === "object" && address !== null ? address.port : 0;
const ends: Record<string, string> = {};
for (const name of process.argv.slice(2)) {
  const url = new URL(`https://${name}:${port}/`);
  ends[name] = await openBody({ method: "GET", url, address: "127.0.0.1" }, AbortSignal.timeout(5000)).then(
    ({ status }) => String(status),
    messageOf,
  );
}
process.stdout.write(JSON.stringify({ ends, hosts: asked.map((line) => line.replace(`:${port}`, "")) }));
process.exit(0);
