// Prints the current media, now and after each change, until it is interrupted.
import { connectToDevice } from "./device.js";

const client = await connectToDevice();
// The program subscribes before it asks, so no change is lost between the two.
const changes = client.notifications();
const media = await client.call("media.active");
console.log(media === null ? "nothing plays" : `now playing: ${media.mediaName}`);
for await (const { method, params } of changes) {
  if (method === "media.started") console.log(`now playing: ${params.mediaName}`);
  if (method === "media.stopped") console.log(`stopped after ${params.elapsed} s: ${params.mediaName}`);
}
