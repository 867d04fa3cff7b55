/**
 * A station for Icecast: sends a sound file to the mount `/radio` without end, a little faster than it plays, and its title.
 * Arguments: port, password, sound file.
 */
import { connect } from "node:net";

const [port = "", password = "", path = ""] = process.argv.slice(2);
const sound = Buffer.from(await Bun.file(path).bytes());
const authorization = `Basic ${btoa(`source:${password}`)}`;
const bytesPerTurn = 4000;
const turnMs = 100;

const head = ["SOURCE /radio HTTP/1.0", `Authorization: ${authorization}`, "Content-Type: audio/mpeg"];

/** Icecast logs that it has started a moment before it takes connections, so a refused one is tried again. */
function play(): void {
  const socket = connect(Number(port), "127.0.0.1");
  socket.once("error", () => setTimeout(play, turnMs));
  socket.write(`${[...head, "Ice-Name: Radio Deck"].join("\r\n")}\r\n\r\n`);
  let at = 0;
  socket.once("data", async (answer) => {
    if (!answer.toString().includes(" 200 ")) throw new Error(answer.toString());
    setInterval(() => {
      socket.write(Buffer.concat([sound, sound]).subarray(at, at + bytesPerTurn));
      at = (at + bytesPerTurn) % sound.length;
    }, turnMs);
    await untilTitled();
    process.stdout.write("plays\n");
  });
}

/** Gives the mount its title, which it takes as soon as it has sound. */
async function untilTitled(): Promise<void> {
  const song = encodeURIComponent("The Taps - First Song");
  const url = `http://127.0.0.1:${port}/admin/metadata?mount=/radio&mode=updinfo&charset=UTF-8&song=${song}`;
  for (;;) {
    const { status } = await fetch(url, { headers: { authorization } });
    if (status === 200) return;
    await Bun.sleep(turnMs);
  }
}

play();
