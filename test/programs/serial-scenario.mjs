/**
 * The calls of a program on a serial port, one line each on standard output. Bun runs it with our link (`ours`). Node
 * runs it with the real `serialport` (`theirs`), which Bun cannot run. The parent has the far end of each port. A line
 * `{"far": [...]}` is a command for it, and the answer comes as one line on standard input. A line `{"note": "..."}`
 * belongs to the transcript.
 *
 * argv: `ours` or `theirs`.
 */
import { createInterface } from "node:readline";

const [, , side] = process.argv;
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const note = (text) => tell({ note: text });

/** A port in the terms of our link: `write`, `setBaudRate`, `onBytes`, `onGone`, `close`. */
const open =
  side === "theirs"
    ? await import("serialport").then(
        ({ SerialPort }) =>
          (path, baudRate) =>
            theirs(SerialPort, path, baudRate),
      )
    : await import("../../drivers/io/serial.ts").then(
        ({ openSerial }) =>
          (path, baudRate) =>
            openSerial(path, { baudRate }),
      );

async function theirs(SerialPort, path, baudRate) {
  const port = new SerialPort({ path, baudRate, hupcl: false, autoOpen: false });
  port.on("error", () => {}); // A failed write also reports its error to its caller.
  const done = (start) =>
    new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve())));
  await done((callback) => port.open(callback));
  return {
    write: (bytes) => done((callback) => port.write(bytes, callback)),
    async setBaudRate(next) {
      // A drain of a closed port waits until it is open again.
      if (port.isOpen) await done((callback) => port.drain(callback));
      await done((callback) => port.update({ baudRate: next }, callback));
    },
    onBytes: (listener) => port.on("data", listener),
    onGone: (listener) => port.on("close", (reason) => reason?.disconnected && listener(reason)),
    close: () => done((callback) => port.close(callback)),
  };
}

/** Sends the parent a command for the far end. */
async function far(...request) {
  tell({ far: request });
  const { value } = await answers.next();
  return JSON.parse(value);
}

/**
 * The kind of an error. The two programs report the same errors in other words. `theirs` quotes the C library ("No such
 * file or directory, cannot open"), and `ours` states a remedy for a person.
 */
const kinds = [
  [/No such file|no such device/, "missing"],
  [/Cannot lock port|another program/, "busy"],
  [/Inappropriate ioctl|Invalid argument|no serial port/, "not that kind of device"],
  [/Port is not open|the port is closed/, "not open"],
];

function kindOf(error) {
  const kind = kinds.find(([pattern]) => pattern.test(error.message));
  return kind === undefined ? `other: ${error.message}` : kind[1];
}

/** Records the outcome of a call. */
async function call(name, run) {
  try {
    const value = await run();
    note(`${name}: ok`);
    return value;
  } catch (error) {
    note(`${name}: ${kindOf(error)}`);
    return undefined;
  }
}

/** Takes bytes in the order in which they come. */
function heardOf(port) {
  let bytes = Buffer.alloc(0);
  let wake = () => {};
  port.onBytes((more) => {
    bytes = Buffer.concat([bytes, more]);
    wake();
  });
  return async (wanted) => {
    while (bytes.length < wanted) await new Promise((resolve) => (wake = resolve));
    const taken = bytes.subarray(0, wanted);
    bytes = bytes.subarray(wanted);
    return taken;
  };
}

async function sha256(bytes) {
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
}

const steps = {
  async "open, exchange, close, and open again"(path) {
    for (let time = 0; time < 2; time++) {
      const port = await call("open", () => open(path, 115200));
      const take = heardOf(port);
      note(`the kernel has ${await far("baudRate")} baud, and the flags ${await far("flags")}`);
      await call("write", () => port.write(Buffer.from("ping\n")));
      note(`the far end heard ${await far("heard", 5)}`);
      await far("write", Buffer.from("pong\r\n\0\x11\x13\x03\x7f\xff", "latin1").toString("hex"));
      note(`read ${(await take(12)).toString("hex")}`);
      await call("close", () => port.close());
    }
  },

  async "every byte value passes both ways, and a large block whole"(path) {
    const port = await call("open", () => open(path, 921600));
    const take = heardOf(port);
    const all = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
    await call("write", () => port.write(all));
    note(`the far end heard ${await far("heard", 256)}`);
    await far("write", all.toString("hex"));
    note(`read ${(await take(256)).toString("hex")}`);
    const large = Buffer.from(
      Array.from({ length: 100_000 }, (_, index) => (index * 31 + (index >> 8)) & 0xff),
    );
    const writing = call("write", () => port.write(large));
    note(`the far end heard a block of ${await far("heardHash", large.length)}`);
    await writing;
    await far("write", large.toString("hex"));
    note(`read a block of ${await sha256(await take(large.length))}`);
    await call("close", () => port.close());
  },

  async rates(path) {
    const port = await call("open", () => open(path, 250000));
    note(`the kernel has ${await far("baudRate")} baud`);
    for (const baudRate of [9600, 12345, 300, 460800, 1000000, 3000000]) {
      await call(`change to ${baudRate}`, () => port.setBaudRate(baudRate));
      note(`the kernel has ${await far("baudRate")}, and the flags ${await far("flags")}`);
    }
    await call("close", () => port.close());
    await call("change once closed", () => port.setBaudRate(9600));
  },

  async "a busy port, a missing one, and one that is none"(path) {
    const first = await call("open", () => open(path, 9600));
    await call("open by a second", () => open(path, 9600));
    await call("close", () => first.close());
    const second = await call("open by a second", () => open(path, 9600));
    await call("close", () => second.close());
    for (const none of ["/dev/there-is-no-such-port", "/dev/null"])
      await call(`open ${none}`, () => open(none, 9600));
  },

  // Unplugging during a read is tested for neither program here. A read of a line that hung up gives 0 bytes, which
  // `theirs` takes for "try again", so it sometimes loops for ever instead of closing. The unit tests check `ours`.
  async "unplugging, then writing"(path) {
    const port = await call("open", () => open(path, 9600));
    const gone = new Promise((resolve) => port.onGone(resolve));
    await far("unplug");
    const failed = await port.write(Buffer.from("anybody there?")).then(
      () => false,
      () => true,
    );
    await gone;
    note(`it is gone; the write failed: ${failed}`);
  },
};

for (const [name, run] of Object.entries(steps)) {
  note(`# ${name}`);
  await run(await far("newPath"));
}
process.exit(0);
