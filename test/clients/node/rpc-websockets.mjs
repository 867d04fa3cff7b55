/** The calls with `rpc-websockets`, which has no batches. */
import { Client } from "rpc-websockets";
import { hear, makeCalls, nextId, notifications, ping, read, url } from "./calls.mjs";

const client = new Client(url, { reconnect: false }, nextId);
client.socket.addEventListener("message", ({ data }) => read(data));
for (const name of notifications) client.on(name, (params) => hear(name, params));
await new Promise((resolve, reject) => {
  client.once("open", resolve);
  client.once("error", reject);
});

await makeCalls({
  call: (method, params) =>
    client.call(method, params).then(
      (result) => ({ result }),
      (error) => ({ error }),
    ),
  notify: (method, params) => client.notify(method, params),
  ping: () => ping((text) => client.socket.send(text)),
});
client.close();
