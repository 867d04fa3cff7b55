/**
 * Pings for two seconds, and prints each answer's time in milliseconds. It is a separate process, so the work of another
 * one does not delay its measurement.
 */
const socket = new WebSocket(process.argv[2] ?? "");
await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
const times: number[] = [];
const endMs = performance.now() + 2000;
while (performance.now() < endMs) {
  const sentMs = performance.now();
  await new Promise((resolve) => {
    socket.addEventListener("message", resolve, { once: true });
    socket.send("ping");
  });
  times.push(performance.now() - sentMs);
  await Bun.sleep(2);
}
process.stdout.write(JSON.stringify(times));
socket.close();

export {};
