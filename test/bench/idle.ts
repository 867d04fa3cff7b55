/** The cost of the idle service and the time of its start, beside the smallest WebSocket server of Node. */
import { readFile } from "node:fs/promises";
import { createPn532Device } from "../emulators/pn532-device.ts";
import { firstReader, makePlace, noReaders, program, startTapdeck } from "../helpers/tapdeck.ts";
import { cpuSeconds, line, spread, title } from "./figures.ts";
import { timeStart } from "./starts.ts";

const idleSeconds = 20;
const starts = 10;

export async function measureIdle(): Promise<void> {
  title(`Idle, with a reader that waits for a card (${idleSeconds} s)`);
  const device = createPn532Device({ timing: "real" });
  {
    await using place = await makePlace(
      `[readers]\nconnect = ["pn532-uart:${device.path}"]\ndetect = true\n`,
    );
    await using service = await startTapdeck(place);
    await firstReader(service);
    const node = Bun.spawn(["node", "-e", nodeServer], { stdio: ["ignore", "ignore", "ignore"] });
    await Bun.sleep(2000);
    const [before, nodeBefore] = [await cpuSeconds(service.pid), await cpuSeconds(node.pid)];
    await Bun.sleep(idleSeconds * 1000);
    const [after, nodeAfter] = [await cpuSeconds(service.pid), await cpuSeconds(node.pid)];
    line(
      "processor",
      `${share(before, after)} (an idle node http server: ${share(nodeBefore, nodeAfter)})`,
      "nothing to measure",
    );
    line(
      "resident memory",
      `${await residentMb(service.pid)} (node: ${await residentMb(node.pid)})`,
      "45 MB",
    );
    node.kill();
    await node.exited;
  }
  await device.close();

  const own: number[] = [];
  const nodes: number[] = [];
  for (let start = 0; start < starts; start++) {
    await using place = await makePlace(noReaders);
    own.push((await timeStart([program, `--data=${place.folder}`], place.port)).tookMs);
    nodes.push((await timeStart(["node", "-e", nodeServer], place.port)).tookMs);
  }
  line("start to the first answer", `${spread(own, "ms")}; node: ${spread(nodes, "ms")}`);
}

const nodeServer = `require("node:http").createServer((_, answer) => answer.end("pong")).listen(process.env.PORT ?? 0, "127.0.0.1")`;

async function residentMb(pid: number): Promise<string> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return `${(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024).toFixed(1)} MB`;
}

function share(before: number, after: number): string {
  return `${(((after - before) / idleSeconds) * 100).toFixed(2)} %`;
}
