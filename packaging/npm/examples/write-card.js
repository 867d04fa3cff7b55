// Writes a text to the card on the reader: node write-card.js "SNES/Super Game.sfc"
import { RpcError } from "tapdeck-client";
import { connectToDevice } from "./device.js";

const text = process.argv[2];
if (text === undefined) {
  console.error('usage: node write-card.js "SNES/Super Game.sfc"');
  process.exit(64);
}
const client = await connectToDevice();
console.log("put a card on the reader");
try {
  await client.call("readers.write", { text });
  console.log("written, and read back equal");
} catch (error) {
  if (!(error instanceof RpcError)) throw error;
  console.error(`not written: ${error.message}`);
  process.exitCode = 1;
} finally {
  client.close();
}
