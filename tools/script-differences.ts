/**
 * Named decisions: each difference of our scripts from the public documentation of the language that existing cards have. The
 * corpus in `test/conformance/scripts` names them, and `tools/script-page.ts` prints them.
 */
import {
  delayMsMax,
  executeMsMax,
  macroKeysMax,
  macroMsMax,
  scriptBytesMax,
  scriptCommandsMax,
  webRequestMsMax,
} from "../src/core/limits.ts";

interface ScriptDifference {
  readonly name: string;
  /** The documented behaviour. */
  readonly documented: string;
  readonly here: string;
  readonly why: string;
}

export const scriptDifferences: readonly ScriptDifference[] = [
  {
    name: "checked-first",
    documented: "Commands run until one of them fails.",
    here: "All commands are checked before the first one runs. A fault in any of them refuses the whole script.",
    why: "A card with a typo does nothing, instead of a half of its work.",
  },
  {
    name: "script-limits",
    documented: "No limit is named.",
    here: `A script has at most ${scriptBytesMax} bytes and ${scriptCommandsMax} commands.`,
    why: "Each input from outside has a limit.",
  },
  {
    name: "command-name",
    documented: "The public parser reads a `**` without a valid name as a path.",
    here: "It is refused.",
    why: "It is a typo far more often than a file. `^**` begins such a path.",
  },
  {
    name: "empty-command",
    documented: "Nothing is said of two `||` in a row.",
    here: "They are refused. A last `||` is accepted.",
    why: "A command is missing there.",
  },
  {
    name: "surplus-argument",
    documented: "Nothing is said of surplus arguments.",
    here: "They are refused.",
    why: "Most are parts of a name with a comma, so that another file would start.",
  },
  {
    name: "unknown-option",
    documented: "Nothing is said of unknown options.",
    here: "They are refused, with the nearest known one. An option without `=` is one with an empty value.",
    why: "A misspelt `when=` or `launcher=` would change what a card does.",
  },
  {
    name: "option-value",
    documented: "Nothing is said of other values.",
    here: "A value that the option does not know is refused.",
    why: "It is a typo.",
  },
  {
    name: "question-mark",
    documented: "The public parser reads a `?` and a word without `=`, or a number, as an option.",
    here: "In a path, a title and after arguments they are text. After a bare name they are an option. A `?` alone is refused there.",
    why: "File names contain question marks, and each is judged by itself.",
  },
  {
    name: "when-value",
    documented: "`true` and `yes` run the command, and any other value skips it.",
    here: "`1` runs it as well. `false`, `no`, `0` and an empty value skip it. Other values are refused.",
    why: "A text such as a name is a mistake in the condition.",
  },
  {
    name: "quote-after-space",
    documented: "A quote counts as the first character of an argument only.",
    here: "White space before it does not count.",
    why: "A person writes a space after a comma.",
  },
  {
    name: "escaped-white-space",
    documented: "White space at the ends is dropped, also if it is escaped.",
    here: "Escaped white space is kept.",
    why: "`^` takes every meaning from the next character.",
  },
  {
    name: "empty-argument",
    documented: "The public parser drops an empty last argument.",
    here: "It counts.",
    why: "The body of `http.post` may be empty.",
  },
  {
    name: "json-as-written",
    documented: "The public parser writes a JSON argument again, with its keys in order.",
    here: "It is kept as it is written. Escapes and expressions have no meaning in it.",
    why: "A server may depend on the exact text.",
  },
  {
    name: "json-path",
    documented:
      "An argument that begins with `{` is JSON, also if it is a path. So is the value of an option.",
    here: "The value of an option is never JSON, and neither is a path without the name of a command.",
    why: "Names of files begin with `{`.",
  },
  {
    name: "json-tail",
    documented: "The public parser takes a text after the `}`.",
    here: "Only a comma, options or `||` may follow it.",
    why: "A brace too many is a typo.",
  },
  {
    name: "trait-values",
    documented: "The public parser reads numbers, conditions, texts and lists. A `#` begins the next trait.",
    here: "Each value is a text up to white space, or in quotes.",
    why: "Nothing here reads numbers or lists.",
  },
  {
    name: "trait-flag",
    documented: "The public parser refuses a part that has `#key` and other words.",
    here: "Such words make their part a path.",
    why: "Names of files begin with `#`.",
  },
  {
    name: "expression-language",
    documented: "An expression is any of a large language, with functions, arithmetic and lists.",
    here: "It has the variables and operators of the section above.",
    why: "Its time and size are bounded, and a fault is found before the script runs.",
  },
  {
    name: "expression-join",
    documented: "`+` takes two texts or two numbers.",
    here: "It also joins a text with any value.",
    why: "The result is text in any case.",
  },
  {
    name: "expression-end",
    documented: "The public parser ends an expression at the first `]]`.",
    here: "A `]]` in quotes ends nothing.",
    why: "A text may contain each character.",
  },
  {
    name: "text-order",
    documented: "Texts are compared letter by letter.",
    here: "Runs of digits count as numbers.",
    why: "`1.10` is a later version than `1.9`.",
  },
  {
    name: "macro-expressions",
    documented: "A macro may contain expressions.",
    here: "`[[` are two keys.",
    why: "The text of one card must not press keys by another.",
  },
  {
    name: "macro-braces",
    documented: "The public parser ends a name in braces at the first `}`.",
    here: "A `}` in quotes or after a backslash ends nothing.",
    why: "Each character can be typed.",
  },
  {
    name: "macro-end",
    documented: "The public parser reads white space at the end of a macro as keys.",
    here: "It is dropped, unless a backslash escapes it.",
    why: "A text often ends with a line feed, and spaces stand before `||`.",
  },
  {
    name: "macro-limits",
    documented: "A macro has 5000 keys, and one repeat 1000.",
    here: `A macro has ${macroKeysMax} keys and takes ${macroMsMax / 1000} s.`,
    why: "The next cards wait for it.",
  },
  {
    name: "input-switch",
    documented: "Input works by default. On desktops, single characters are blocked.",
    here: "It needs `script.allow_input = true`, and has no list of keys.",
    why: "A card must not type on a PC unless its owner wants it.",
  },
  {
    name: "old-key",
    documented: "`key` and `input.key` are older names of `input.keyboard`.",
    here: "They press one key, by its name or its number in Linux.",
    why: "Cards of that time have one key, often as a number.",
  },
  {
    name: "text-when",
    documented: "`input.text` has no options.",
    here: "It has `when`. Every other `?` is typed.",
    why: "Every command takes `when`.",
  },
  {
    name: "title-everywhere",
    documented: "Without a system or a title, the public parser reads `@` as a path.",
    here: "Without a system, the title is looked up in all systems. Without a title, it is refused.",
    why: "A file with such a name is rare, and a card without a system is handy.",
  },
  {
    name: "no-addresses",
    documented: "Addresses are downloaded, passed to other programs, or asked for a script.",
    here: "A path that is an address is refused.",
    why: "A card starts only the owner's media.",
  },
  {
    name: "title-argument",
    documented: "The public parser reads neither expressions nor quotes after `@`.",
    here: "A title is an argument with both.",
    why: "One rule holds for all arguments.",
  },
  {
    name: "tags-rank",
    documented: "A file without the tags of a title is not started.",
    here: "Files with more of the tags come first. If none has them, another version of the title starts.",
    why: "A card from somebody else starts the version that is there.",
  },
  {
    name: "tags-of-titles",
    documented: "The option `tags` narrows titles, searches and random choices.",
    here: "It narrows titles only.",
    why: "Searches and random choices know no tags.",
  },
  {
    name: "details",
    documented: "`action=details` shows the details of a game.",
    here: "It is refused. `action=run` has no effect.",
    why: "There is no page of details.",
  },
  {
    name: "one-slot",
    documented: "The option `slot` plays sound in the background.",
    here: "Such a sound starts only while nothing plays.",
    why: "One player runs at a time.",
  },
  {
    name: "launcher-of-next-card",
    documented: "`launch` with a launcher and no path chooses the launcher of the next card.",
    here: "A path is required.",
    why: "A card means the same at each tap.",
  },
  {
    name: "search-best",
    documented: "A search starts its first result.",
    here: "It starts the best one.",
    why: "The order of files on a disk says nothing.",
  },
  {
    name: "random-weight",
    documented: "Each of several systems is equally likely.",
    here: "Each file is equally likely.",
    why: "A small system would repeat its few games.",
  },
  {
    name: "folder-items",
    documented: "A folder plays all its files.",
    here: "It plays its sounds and films, or else its files.",
    why: "Covers and texts lie beside music.",
  },
  {
    name: "inline-items",
    documented: "An item of a list in JSON may be any script.",
    here: "It starts media, and is no list.",
    why: "The next item starts at the end of the media.",
  },
  {
    name: "list-items",
    documented: "An item of a `.pls` list may be a script.",
    here: "It is a path.",
    why: "A list on a foreign drive must not run commands.",
  },
  {
    name: "playlist-pause",
    documented: "`playlist.pause` pauses the playlist.",
    here: "It stops the item and keeps the place. The item begins again afterwards.",
    why: "Not every player can pause.",
  },
  {
    name: "picker",
    documented: "`playlist.open` shows a menu on the screen of a MiSTer only.",
    here: "It shows the items on the device's page, and on the screen of the SD image.",
    why: "Each device has the page.",
  },
  {
    name: "no-save-ram",
    documented: "`control` has the action `save_ram`.",
    here: "It is refused.",
    why: "RetroArch has no such command; it writes battery RAM within ten seconds of a change.",
  },
  {
    name: "media-ready",
    documented: "`media_ready` needs a platform that reports readiness.",
    here: "A player that cannot report readiness is ready after 3 s.",
    why: "The command works with each player.",
  },
  {
    name: "delay-limit",
    documented: "A delay has no limit.",
    here: `It takes at most ${delayMsMax / 60_000} minutes.`,
    why: "A card must not occupy the queue forever.",
  },
  {
    name: "web-list",
    documented: "All addresses are allowed until the owner lists some.",
    here: "None is allowed until the owner lists it in `script.allow_http`.",
    why: "A card from somebody else must not reach the home network.",
  },
  {
    name: "web-waits",
    documented: "A request runs beside the script, for at most 30 s.",
    here: `The script waits at most ${webRequestMsMax / 1000} s for the answer, and fails unless the request succeeds.`,
    why: "The next command may depend on it.",
  },
  {
    name: "program-time",
    documented: "A program may run for 2 s.",
    here: `It may run for ${executeMsMax / 1000} s.`,
    why: "A program that makes a backup or switches a lamp may need longer.",
  },
  {
    name: "execute-arguments",
    documented: "A command line is one argument.",
    here: "Program and arguments may also be several. With an expression, they must be.",
    why: "The text of a card must stay within one argument.",
  },
  {
    name: "write-time",
    documented: "The next tag may come within 60 s.",
    here: "It may come within 28 s.",
    why: "Known apps give up after 30 s, and cards and the API have the same limit.",
  },
  {
    name: "link-commands",
    documented: "A script from a link cannot type or run programs.",
    here: "It cannot type, run programs, send requests or write tags.",
    why: "Anybody can make a link.",
  },
  {
    name: "additions",
    documented: "They are absent.",
    here: "`volume`, `pair`, `search`, `coinp3`, `coinp4`, places of `control`, times with units, `.m3u` lists, folders of a system in `launch.random`, and the options `resume`, `shuffle` and `launcher` of playlists.",
    why: "Jukeboxes need them, and cards without them are unchanged.",
  },
];
