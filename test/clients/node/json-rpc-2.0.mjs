/** The calls with `json-rpc-2.0` over a WebSocket of `ws`. */
import { JSONRPCClient, JSONRPCServer, JSONRPCServerAndClient } from "json-rpc-2.0";
import { WebSocket } from "ws";
import { hear, makeCalls, nextId, notifications, ping, read, url } from "./calls.mjs";

const socket = new WebSocket(url);
const client = new JSONRPCClient((payload) => socket.send(JSON.stringify(payload)), nextId);
const peer = new JSONRPCServerAndClient(new JSONRPCServer(), client);
for (const name of notifications) peer.addMethod(name, (params) => hear(name, params));
socket.on("message", (data) => {
  const message = read(data);
  if (message !== undefined) peer.receiveAndSend(message);
});
await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));

await makeCalls({
  call: (method, params) =>
    peer.request(method, params).then(
      (result) => ({ result }),
      ({ code, message, data }) => ({ error: { code, message, data } }),
    ),
  notify: async (method, params) => peer.notify(method, params),
  batch: (requests) => client.requestAdvanced(requests),
  ping: () => ping((text) => socket.send(text)),
});
socket.close();
