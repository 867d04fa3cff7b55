/** A USB port of an emulated board for images of sticks, by QEMU's own protocol (docs/interop/qmp-intro.rst of QEMU). */
import { patienceMs, until } from "./until.ts";

export interface StickPort {
  /** The words for `BoardOptions.more`. */
  readonly words: readonly string[];
  /** Plugs the image in, under a name of the caller's choice. */
  plug(name: string, image: string): Promise<void>;
  /** Pulls the stick out as a person does, without a request to the guest. */
  unplug(name: string): Promise<void>;
  /** Sends a command of QEMU's monitor for people. */
  monitor(command: string): Promise<void>;
  close(): void;
}

interface Said {
  readonly id?: string;
  readonly event?: string;
  readonly data?: { readonly device?: string };
  readonly error?: { readonly desc?: string };
}

/** Makes the port. The board listens at `socketPath` once it is started, and `present` is plugged in from the start. */
export function createStickPort(socketPath: string, present?: string): StickPort {
  const said: Said[] = [];
  let line: Promise<Bun.Socket> | undefined;
  let count = 0;
  const open = async () => {
    let rest = "";
    const decoder = new TextDecoder();
    const socket = await Bun.connect({
      unix: socketPath,
      socket: {
        data(_, bytes) {
          const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
          rest = lines.pop() ?? "";
          for (const text of lines) said.push(JSON.parse(text));
        },
      },
    });
    socket.write(`${JSON.stringify({ execute: "qmp_capabilities" })}\n`);
    return socket;
  };
  const run = async (execute: string, parameters: object) => {
    line ??= open();
    const id = `${++count}`;
    (await line).write(`${JSON.stringify({ execute, arguments: parameters, id })}\n`);
    const answer = await until(`${execute} of QEMU`, () => said.find((one) => one.id === id));
    if (answer.error !== undefined) throw new Error(`QEMU refused ${execute}: ${answer.error.desc}`);
  };
  const gone = (name: string) =>
    said.filter(({ event, data }) => event === "DEVICE_DELETED" && data?.device === name).length;
  return {
    words: [
      ...["-qmp", `unix:${socketPath},server=on,wait=off`, "-device", "qemu-xhci,id=sticks"],
      ...(present === undefined
        ? []
        : [
            ...["-blockdev", `driver=raw,node-name=present,file.driver=file,file.filename=${present}`],
            ...["-device", "usb-storage,bus=sticks.0,drive=present,id=present-stick"],
          ]),
    ],
    async plug(name, image) {
      const file = { driver: "file", filename: image };
      await run("blockdev-add", { driver: "raw", "node-name": name, file });
      await run("device_add", { driver: "usb-storage", bus: "sticks.0", drive: name, id: `${name}-stick` });
    },
    async unplug(name) {
      const before = gone(`${name}-stick`);
      await run("device_del", { id: `${name}-stick` });
      await until(`the end of ${name}, within ${patienceMs} ms`, () => gone(`${name}-stick`) > before);
      await run("blockdev-del", { "node-name": name });
    },
    monitor: (command) => run("human-monitor-command", { "command-line": command }),
    close() {
      void line?.then((socket) => socket.end());
    },
  };
}
