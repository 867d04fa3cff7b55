// The competitor: `version` over WebSocket as a Node program would serve it.
import { JSONRPCServer } from "json-rpc-2.0";
import { WebSocketServer } from "ws";

const server = new JSONRPCServer();
server.addMethod("version", () => ({ platform: "linux", version: "0.1.0" }));
const sockets = new WebSocketServer({ host: "127.0.0.1", port: 0 }, () => {
  process.stdout.write(`${sockets.address().port}\n`);
});
sockets.on("connection", (socket) => {
  socket.on("message", async (data) => {
    const answer = await server.receiveJSON(data.toString());
    if (answer !== null) socket.send(JSON.stringify(answer));
  });
});
