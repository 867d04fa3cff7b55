// Prints each card that is put on a reader, until it is interrupted.
import { connectToDevice } from "./device.js";

const client = await connectToDevice();
const taps = client.notifications();
const { readers } = await client.call("readers");
console.log(`readers: ${readers.map(({ driver }) => driver).join(", ") || "none"}`);
client.onState((state) => console.log(`connection ${state}`));
for await (const { method, params } of taps) {
  if (method === "tokens.added") console.log(`${params.uid || "no uid"}: ${params.text || "no text"}`);
}
