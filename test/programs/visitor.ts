/** One visit to the service, as JSON in the first argument; prints the result. Run in a namespace. */
import type { Outcome, Visit } from "../helpers/namespaces.ts";

const what = JSON.parse(process.argv[2] ?? "") as Visit;
process.stdout.write(JSON.stringify(what.url.startsWith("ws") ? await talk(what) : await ask(what)));
process.exit(0);

async function ask({
  url,
  headers = {},
  method = "GET",
  body,
  bytes,
  anyCertificate = false,
}: Visit): Promise<Outcome> {
  const answer = await fetch(url, {
    method,
    headers,
    redirect: "manual",
    tls: { rejectUnauthorized: !anyCertificate },
    ...(body === undefined ? {} : { body }),
    ...(bytes === undefined ? {} : { body: Buffer.from(bytes, "base64") }),
  });
  return { status: answer.status, body: await answer.text() };
}

async function talk({ url, headers = {}, send = [], anyCertificate = false }: Visit): Promise<Outcome> {
  const options = { headers, tls: { rejectUnauthorized: !anyCertificate } };
  const socket = new WebSocket(url, options as never) as Bun.WebSocket;
  const messages: string[] = [];
  const done = Promise.withResolvers<Outcome>();
  socket.addEventListener("open", () => {
    for (const text of send) socket.send(text);
  });
  socket.addEventListener("message", ({ data }) => {
    messages.push(String(data));
    // The close comes directly after the service's last message, and before the answer to a ping.
    if (messages.length === send.length) socket.ping();
  });
  socket.addEventListener("pong", () => done.resolve({ messages }));
  socket.addEventListener("close", ({ code }) => done.resolve({ messages, closed: code }));
  return done.promise;
}
