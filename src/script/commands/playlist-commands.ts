/** Commands for the playlist: many files, one after another. */
import { type ServiceError, wrongScript } from "../../core/errors.ts";
import { type Call, type PlaylistHow, readFlag, type ScriptCommand } from "../command.ts";
import { fileOptions, howOf } from "./launch-commands.ts";

const what =
  'a folder (its sounds and films by name, or else its files), or a list (`.m3u`, `.m3u8`, `.pls`). The path is absolute, or `<System>/<relative path>` below a media folder. A list on the card is JSON, `{"name":"Two","items":[{"name":"One","zapscript":"Audio/1.mp3"}]}`, and each of its items a script that starts media';
const options = {
  ...fileOptions,
  mode: "`shuffle` for a random order, which is drawn once.",
  shuffle: "`yes` is the same as `mode=shuffle`.",
  repeat: "`all` starts again at the end, `one` repeats one item, and `off` or `no`, the default, ends.",
} as const;
const common = {
  options: {},
  startsMedia: false,
  takesSlot: true,
  allowedUntrusted: true,
  argsMin: 0,
  argsMax: 0,
  args: "",
} as const;

export const playlistCommands: readonly ScriptCommand[] = [
  {
    ...common,
    names: ["playlist.play"],
    argsMax: 1,
    args: "folder or list",
    options,
    startsMedia: true,
    docs: `Starts ${what}. Without an argument, it continues the loaded one. A folder or list goes on at the item that played last, unless that was the last one and ended. When an item ends by itself, the next one starts. An item that cannot be played is skipped. Another start ends a playlist that plays, and keeps one that is paused.`,
    example: "**playlist.play:Audio/Bedtime?mode=shuffle&repeat=all",
    run: (call, { playlist }) => {
      const path = call.args[0] ?? "";
      return playlist.play(path === "" ? undefined : path, playlistHow(call));
    },
  },
  {
    ...common,
    names: ["playlist.load"],
    argsMin: 1,
    argsMax: 1,
    args: "folder or list",
    options,
    docs: "Loads a playlist, as `playlist.play` does, without starting it.",
    example: "**playlist.load:Audio/Bedtime.m3u",
    run: (call, { playlist }) => playlist.load(call.args[0] ?? "", playlistHow(call)),
  },
  {
    ...common,
    names: ["playlist.open"],
    argsMax: 1,
    args: "folder or list",
    options,
    docs: "Loads a playlist, and shows its items on the device's page and, while nothing plays, on the screen of the SD image. There, a person chooses. Without an argument, it shows the loaded one.",
    example: "**playlist.open:Audio/Bedtime",
    run: (call, { playlist }) => {
      const path = call.args[0] ?? "";
      return playlist.open(path === "" ? undefined : path, playlistHow(call));
    },
  },
  {
    ...common,
    names: ["playlist.stop"],
    docs: "Ends the playlist, and stops its item.",
    example: "**playlist.stop",
    run: (_call, { playlist }) => playlist.stop(),
  },
  {
    ...common,
    names: ["playlist.pause"],
    docs: "Stops the item of the playlist and keeps the place. `playlist.play` starts that item again.",
    example: "**playlist.pause",
    run: (_call, { playlist }) => playlist.pause(),
  },
  {
    ...common,
    names: ["playlist.next"],
    startsMedia: true,
    goesOn: true,
    docs: "Starts the next item of the playlist.",
    example: "**playlist.next",
    run: (_call, { playlist }) => playlist.move(1),
  },
  {
    ...common,
    names: ["playlist.previous"],
    startsMedia: true,
    goesOn: true,
    docs: "Starts the previous item of the playlist.",
    example: "**playlist.previous",
    run: (_call, { playlist }) => playlist.move(-1),
  },
  {
    ...common,
    names: ["playlist.goto"],
    argsMin: 1,
    argsMax: 1,
    args: "place",
    startsMedia: true,
    goesOn: true,
    docs: "Starts the item at this place of the playlist; the first is 1.",
    example: "**playlist.goto:3",
    async run({ args: [text = ""] }, { playlist }) {
      if (!/^[1-9]\d{0,5}$/.test(text))
        throw wrongScript(`playlist.goto takes the place of an item, from 1, not "${text.slice(0, 64)}"`);
      await playlist.goTo(Number(text));
    },
  },
];

const repeats = ["no", "all", "one"] as const;

function playlistHow(call: Call): PlaylistHow {
  const option = (name: string) => call.options.get(name)?.toLowerCase() ?? "";
  const mode = option("mode");
  const shuffle = option("shuffle");
  const asked = option("repeat") || "no";
  const repeat = asked === "off" ? "no" : repeats.find((one) => one === asked);
  if (mode !== "" && mode !== "shuffle" && mode !== "order") throw wrong("mode", mode, "shuffle or order");
  if (shuffle !== "" && readFlag(shuffle) === undefined) throw wrong("shuffle", shuffle, "yes or no");
  if (repeat === undefined) throw wrong("repeat", asked, "all, one or no");
  const isShuffled = mode === "shuffle" || readFlag(shuffle) === true;
  return { ...howOf(call), isShuffled, repeat };
}

function wrong(option: string, text: string, right: string): ServiceError {
  return wrongScript(`${option}= is ${right}, not "${text.slice(0, 64)}"`);
}
