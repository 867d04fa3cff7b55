/**
 * The corpus of launch scripts. Its lines:
 *
 *   ~ settings   of the next script, as in `script-world.ts`: `playing`, `trusted`, `untrusted`, `bare`
 *   % name       the decision of docs/SCRIPT.md by which the next script differs from the documentation of the language
 *   > script     the script as it is, or >"..." one as JSON
 *   < command    its commands with arguments and options, as in `script-table.ts`; none if it cannot be read
 *   = request    its effect on the world, as in `script-world.ts`, with the names of keys
 *   * meaning    of the argument: `* item` an item of a list in JSON, or its fault; `* picks` the file of a title among those of
 *                `shelf`; else the lookup that a path stands for if there is no such file
 *   ! refusal    the kind of its error, and the sentence; a last `…` stands for a list of all there is
 *   # why
 */
import * as v from "valibot";
import { readPlaylist } from "../../src/launch/playlist-items.ts";
import { meantBy } from "../../src/launch/ports/media-lookup.ts";
import { chooseTitle } from "../../src/media/titles/titles.ts";
import { parseScript } from "../../src/script/parser.ts";
import { readAs } from "./script-table.ts";
import { play, scriptWorld } from "./script-world.ts";

export interface CorpusEntry {
  readonly category: string;
  readonly script: string;
  readonly settings: readonly string[];
  readonly differences: readonly string[];
  /** The lines `<`, `=`, `*` and `!` of the script. */
  readonly expected: readonly string[];
}

export function readCorpus(text: string, category: string): readonly CorpusEntry[] {
  const entries: (CorpusEntry & { readonly expected: string[] })[] = [];
  let [settings, differences]: string[][] = [[], []];
  for (const [index, line] of text.split("\n").entries()) {
    const rest = line.slice(2);
    if (line === "" || line.startsWith("#")) continue;
    if (line.startsWith("~ ")) settings = rest.split(" ");
    else if (line.startsWith("% ")) differences = rest.split(" ");
    else if (line.startsWith("> ") || line.startsWith('>"')) {
      const script = line.startsWith("> ") ? rest : String(JSON.parse(line.slice(1)));
      entries.push({
        category,
        script,
        settings: settings ?? [],
        differences: differences ?? [],
        expected: [],
      });
      [settings, differences] = [[], []];
    } else if (/^[<=*!] /.test(line) && settings?.length === 0 && differences?.length === 0)
      entries.at(-1)?.expected.push(line);
    else throw new Error(`${category}, line ${index + 1} is out of place: ${line}`);
  }
  return entries;
}

/** The lines of a script. */
export async function meaningOf({ script, settings, expected }: CorpusEntry): Promise<readonly string[]> {
  const read = readAs(script).filter((line) => line.startsWith("< "));
  const effect = await play({ script, settings });
  const refusal = expected.find((line) => line.startsWith("! ") && line.endsWith(" …")) ?? "";
  const shown = (line: string) =>
    refusal !== "" && line.startsWith(`${refusal.slice(0, -2)}: `)
      ? refusal
      : onOneLine(line).replace(/^= (keyboard|gamepad) (.*)$/, named);
  const isMeant = expected.some((line) => line.startsWith("* "));
  return [...read, ...effect.map(shown), ...(isMeant ? await argumentOf(script, effect) : [])];
}

/** The names of the files in the index. */
const shelf = [
  "Otter Racer (Europe) (En,Fr,De)",
  "Otter Racer (Japan)",
  "Otter Racer (USA)",
  "Otter Racer (USA) (Demo)",
  "Otter Racer (USA) (Rev A)",
  "Paper Comet (USA) (Disc 1)",
  "Paper Comet (USA) (Disc 2)",
];

/** The meaning of the first argument of a script: a title, a list or a path. */
async function argumentOf(script: string, effect: readonly string[]): Promise<readonly string[]> {
  const [, json] = /^= title (.*)$/.exec(effect[0] ?? "") ?? [];
  if (json !== undefined) {
    const { title, tags } = v.parse(
      v.object({ title: v.string(), tags: v.array(v.string()) }),
      JSON.parse(json),
    );
    const wanted = [title, ...tags.map((tag) => `(${tag})`)].join(" ");
    const choice = chooseTitle(wanted, shelf, { regions: [], languages: [] });
    return [`* picks ${choice === undefined ? "nothing" : shelf[choice.place]}`];
  }
  const parsed = parseScript(script);
  const [argument] = parsed.kind === "error" ? [] : (parsed.commands[0]?.args[0] ?? []);
  const text = String(argument);
  if (text.startsWith("{"))
    return readPlaylist(text, "reader", async (path) => path).then(
      ({ items }) =>
        items.map(({ name, ...item }) => `* item ${name}: ${"script" in item ? item.script : item.path}`),
      (error) => [`* item: ${error.message}`],
    );
  const { asked, ports } = scriptWorld();
  await meantBy(text, ports.index);
  return asked.map((line) => `* ${line}`);
}

function onOneLine(line: string): string {
  return line.replace(/[\n\r\t]/g, (char) => JSON.stringify(char).slice(1, -1));
}

function named(_line: string, device: string, steps: string): string {
  // A press of usual length and pace is shown by the names of its keys, and any other step is shown as it is.
  const presses = steps.replace(
    /\+(\d+)((?: \+\d+)*) 40ms((?: -\d+)+) 60ms/g,
    (all, first: string, others: string, up: string) => {
      const down = [first, ...numbersIn(others)];
      return down.toReversed().join() === numbersIn(up).join() ? down.map(keyName).join("+") : all;
    },
  );
  return `= ${device} ${presses.replace(/(?<=^| )([+-])(\d+)(?= |$)/g, (_all, sign: string, code: string) => sign + keyName(code))}`;
}

function numbersIn(text: string): readonly string[] {
  return text.match(/\d+/g) ?? [];
}

function keyName(code: string): string {
  return keyNames.get(Number(code)) ?? `key ${code}`;
}

/** The names in linux/input-event-codes.h without KEY_ and BTN_, by the first code of each row. */
const keyNames: ReadonlyMap<number, string> = new Map(
  (
    [
      [1, "esc 1 2 3 4 5 6 7 8 9 0 minus equal backspace tab q w e r t y u i o p leftbrace rightbrace enter"],
      [29, "ctrl a s d f g h j k l semicolon apostrophe grave shift backslash z x c v b n m comma dot slash"],
      [54, "rightshift"],
      [56, "alt space capslock f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 numlock scrolllock"],
      [87, "f11 f12"],
      [97, "rightctrl"],
      [100, "rightalt"],
      [102, "home up pageup left right end down pagedown insert delete"],
      [113, "mute volumedown volumeup"],
      [0x130, "south east"],
      [0x133, "north west"],
      [0x136, "tl tr tl2 tr2 select start mode thumbl thumbr"],
      [0x220, "dpad_up dpad_down dpad_left dpad_right"],
    ] as const
  ).flatMap(([first, names]) => names.split(" ").map((name, at) => [first + at, name] as const)),
);
