/** The calls with `jayson`: over its WebSocket or, if the address is `http://`, over POST, which brings no notifications. */
import { Agent } from "node:http";
import jayson from "jayson";
import { hear, makeCalls, nextId, ping, read, url } from "./calls.mjs";

const { protocol, hostname, port, pathname: path } = new URL(url);
const isHttp = protocol === "http:";
const client = isHttp
  ? // Node's own agent ends a request after five seconds without bytes, but an index may take longer.
    jayson.Client.http({ hostname, port, path, agent: new Agent({ keepAlive: true }), generator: nextId })
  : jayson.Client.websocket({ url, generator: nextId });
if (!isHttp) {
  client.ws.on("message", (data) => {
    const { method, params } = read(data) ?? {};
    if (method !== undefined) hear(method, params);
  });
  await new Promise((resolve, reject) => client.ws.once("open", resolve).once("error", reject));
}

/** A callback of two parameters receives an error of the connection and the whole answer. */
const answerTo = (send) =>
  new Promise((resolve, reject) =>
    send((failure, answer) => {
      if (failure) return reject(failure);
      if (isHttp && answer !== undefined) read(JSON.stringify(answer));
      resolve(answer);
    }),
  );

/** The library makes requests with objects and lists only, so a request with a string is given as a whole. */
const request = (method, params, callback) =>
  typeof params === "string"
    ? client.request({ jsonrpc: "2.0", method, params, id: nextId() }, callback)
    : client.request(method, params, callback);

await makeCalls({
  call: (method, params) => answerTo((callback) => request(method, params, callback)),
  notify: (method, params) => answerTo((callback) => client.request(method, params, null, callback)),
  batch: (requests) => answerTo((callback) => client.request(requests, callback)),
  ping: () =>
    isHttp
      ? fetch(new URL("/ping", url)).then((answer) => answer.text())
      : ping((text) => client.ws.send(text)),
  hears: !isHttp,
});
client.ws?.close();
