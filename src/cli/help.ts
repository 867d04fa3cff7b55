/** The table of commands and options, in the order of the help text. Help, completions and the man page are made from it. */

import { type OptionName, optionForms } from "./option-forms.ts";

interface CommandHelp {
  readonly usage: string;
  readonly summary: string;
  readonly more: string;
  /**
   * The effect of each option of this command, except those that every command has. An option with an empty text is for
   * scripts, and not shown.
   */
  readonly options?: { readonly [Name in OptionName]?: string };
  /** The least and the most words that may follow the command; none if absent. */
  readonly words?: readonly [min: number, max: number];
}

const json = "as JSON";

const help = {
  tap: {
    usage: "tap TEXT [--uid HEX] [--for MS]",
    summary: "tap a card with this text, and print the result",
    more: `On the simulated reader if there is one, so that the bytes run through the real driver; else on a virtual one.
Exit code 1 if the launch failed.`,
    options: {
      uid: "the card's UID (14 digits on the simulated reader)",
      for: "remove it after this many milliseconds (500)",
      json,
    },
    words: [1, 1],
  },
  write: {
    usage: "write TEXT | --list FILE",
    summary: "write TEXT to a tag, or one line of FILE to each",
    more: `TEXT is a path, a title, or a script. Lay a tag on the reader within 28 seconds; a tag that lies there already is
used at once. It is formatted if needed, read back, and not launched until it is laid on again.
Exit code 1 if the tag was not written.`,
    options: {
      list: "many tags in a row: it asks for one after another, and Ctrl-C ends",
      reader: "on this reader (tapdeck readers lists them), instead of the first that can write",
      force: "also overwrites data of another kind",
      json: "a line of JSON for each written tag",
    },
    words: [0, 1],
  },
  status: {
    usage: "status [--json]",
    summary: "show what plays, the readers, the media and faults",
    more: "Exit code 0, even if something is wrong: tapdeck call health tells programs.",
    options: { json },
  },
  stop: {
    usage: "stop",
    summary: "stop what plays",
    more: "Nothing happens if nothing plays.",
    options: { json },
  },
  pause: {
    usage: "pause",
    summary: "pause what plays, or let it continue",
    more: "Exit code 1 if nothing plays, or its player cannot pause.",
    options: { json },
  },
  next: {
    usage: "next",
    summary: "play the next item of the playlist",
    more: "Exit code 1 if nothing plays that has a next item.",
    options: { json },
  },
  previous: {
    usage: "previous",
    summary: "play the item before",
    more: "Exit code 1 if nothing plays that has an item before.",
    options: { json },
  },
  seek: {
    usage: "seek PLACE",
    summary: "go to another place of a sound or film",
    more: "PLACE is +10 or -10 (seconds from here), 90, 1:30 or 1m30s (from the start), or 50%.",
    options: { json },
    words: [1, 1],
  },
  volume: {
    usage: "volume [PERCENT]",
    summary: "show the volume, or change it",
    more: "PERCENT is 0 to 100, or +5 or -5. It is the volume of the player if that has one, else of the device.",
    options: { json },
    words: [0, 1],
  },
  history: {
    usage: "history [-n N] [--json]",
    summary: "show the cards that were tapped, and what became of them",
    more: "The newest is the last.",
    options: { lines: "the newest N taps (20)", json },
  },
  log: {
    usage: "log [-n N] [-f] [--level LEVEL]",
    summary: "show the log of the service",
    more: "The newest line is the last. The service keeps some thousand lines since its start, without texts of cards.",
    options: {
      lines: "the newest N lines (50)",
      follow: "also show each further line; Ctrl-C ends it",
      level: "only error, or also warn, or also info, the default",
      json: "a line of JSON for each line",
    },
  },
  map: {
    usage: "map UID TEXT | --next TEXT | --export FILE | --import FILE",
    summary: "give a card another text, without writing to it",
    more: `For cards that cannot be written. A later text for the same card takes the place of the earlier one.
A text that would start nothing now is kept, with a warning.
FILE ends in .toml or .csv. Its mappings are imported all or, if one line is wrong, not at all.
Exit code 1 if nothing was imported.`,
    options: {
      next: "for the next card that is laid on a reader; Ctrl-C ends the waiting",
      export: "write all mappings to a new file, without those of the folder mappings",
      force: "with --export: replaces a file that exists",
      import: "add the mappings of a file",
      replace: "with --import: delete all other mappings, without those of the folder mappings",
      json,
    },
    words: [0, 2],
  },
  unmap: {
    usage: "unmap UID",
    summary: "let a card have its own text again",
    more: "Deletes the mapping that tapdeck map or an app made for exactly this UID.",
    options: { json },
    words: [1, 1],
  },
  cards: {
    usage: "cards [status] | key FILE | publish FOLDER KEY FILE",
    summary: "show shared cards, or make them for other decks",
    more: `key makes a secret key, KEY, and prints the public one for cards.key of each deck. publish signs FOLDER/mappings/*.toml,
launchers.toml and limits.toml as FILE, which a web server offers at cards.url. It changes nothing on this device.`,
    options: { json },
    words: [0, 4],
  },
  settings: {
    usage: "settings [get [NAME] | set NAME VALUE]",
    summary: "show the settings, or change one",
    more: `These are the settings of the API; tapdeck config prints all. VALUE is true, false, a number or a text. A list
is JSON, or words with commas: tapdeck settings set insertModeBlocklist SNES,NES`,
    options: { json },
    words: [0, 3],
  },
  index: {
    usage: "index [SYSTEM ...]",
    summary: "look for media, and show the progress",
    more: "SYSTEM is an id such as SNES; without one, all systems are indexed.",
    options: { json: "only the result" },
    words: [0, 64],
  },
  search: {
    usage: "search WORDS [--json]",
    summary: "list media with every word in their name",
    more: "Each line is a text for a card: tapdeck write LINE",
    options: { json },
    words: [1, 32],
  },
  call: {
    usage: "call METHOD [JSON]",
    summary: "call a method of the API and print its result",
    more: `JSON holds the params: tapdeck call tokens.history '{"limit":5}'
A mapping of mappings.new is enabled unless it says otherwise. Exit code 1 if the service refused.`,
    options: { json: "always on" },
    words: [1, 2],
  },
  watch: {
    usage: "watch [--json]",
    summary: "show taps, launches and media as they happen",
    more: "End it with Ctrl-C.",
    options: { json: "whole notifications, one a line" },
  },
  readers: { usage: "readers [--json]", summary: "list the readers", more: "", options: { json } },
  pair: {
    usage:
      "pair [NAME] [--role ROLE] [--card | --code | --pin | --bearer NAME | --list | --change ID | --revoke ID]",
    summary: "pair a phone: a QR code, a card, or a short code",
    more: `Shows a link as a QR code. A phone that opens it is paired with this device. NAME is its name in the list.
A link that nobody opens within ten minutes expires.
After the link it prints the SHA-256 of the certificate, as browsers show it for https.
Exit code 1 if nothing was paired.`,
    options: {
      role: "member, the default, may do everything except administer the device; player may look, start and stop media; owner also administers it",
      card: "write the link to a card instead, which opens it on a phone",
      reader: "with --card: on this reader",
      force: "with --card: also overwrites data of another kind",
      code: "show six digits to type into the phone, valid for ten minutes and three tries",
      pin: "the same for an app that knows only the older encryption (api.allow_v1_clients), valid for five minutes",
      bearer: "make a client for a program that speaks HTTPS, and print its bearer token once",
      list: "list the paired phones and programs, with role, age and last use",
      json,
      change: "give a paired phone or program the role of --role, by its id or its name",
      revoke: "end a pairing, by its id or its name",
      host: "put this name or address of the device into the link",
    },
    words: [0, 1],
  },
  join: {
    usage: "join HOST CODE | join LINK",
    summary: "pair this computer with a deck on another machine",
    more: `CODE are the six digits that tapdeck pair --code shows there; LINK is that of tapdeck pair. With --role owner there, this
computer administers the deck: tapdeck --host HOST settings get. Its credentials are kept beside the settings, in decks.`,
    options: { json },
    words: [1, 2],
  },
  ping: { usage: "ping", summary: "exit with 0 if the service answers", more: "", options: { json } },
  audit: {
    usage: "audit [-n N] [--json]",
    summary: "show pairings, refusals, and remote launches and changes",
    more: "Equal refusals and launches are counted together; tapdeck history lists the launches.",
    options: { lines: "the newest N lines (20)", json: "an entry a line, in the form of the API" },
  },
  config: {
    usage: "config [--write]",
    summary: "print a settings file with every key and its default",
    more: "",
    options: {
      write: "write it to the service's settings file, unless that exists",
      json,
    },
  },
  backup: {
    usage: "backup FILE [--force] [--passphrase-file FILE]",
    summary: "write settings, mappings and history to a file",
    more: `At a terminal it asks for a passphrase. With one, the file also holds the paired phones and the keys of the
certificate, encrypted; without, they are left out. Media are not in it. It also works without the service.`,
    options: {
      force: "replaces an older backup",
      "passphrase-file": "the passphrase is the first line of this file, and nothing is asked",
      json,
    },
    words: [1, 1],
  },
  restore: {
    usage: "restore FILE [--check] [--passphrase-file FILE]",
    summary: "restore what a backup holds, in place of the present state",
    more: `The file is checked first. The present state is kept as a backup of its own, in the folder backups beside the
database; then the service starts again. Ports and addresses of this device stay. It also works without the service.
Exit code 1 if the file was refused; then nothing was changed.`,
    options: {
      check: "only shows what the backup holds, and what would change",
      "passphrase-file": "the passphrase is the first line of this file, and nothing is asked",
      json,
    },
    words: [1, 1],
  },
  update: {
    usage: "update FILE|URL | --status | --undo",
    summary: "update the system of Tapdeck's own image",
    more: `As root, in the image's shell. FILE is a signed bundle, and URL its address. RAUC checks it as a whole, and writes it
beside the running system. It is read back and tried, and kept after a healthy minute; otherwise the old system starts
again by itself. Exit code 1 if the file was refused; then nothing was written.`,
    options: {
      "allow-older": "accept a version older than the running one",
      status: "show the systems in the two slots",
      undo: "try the system from before the last update",
      json: "a line of JSON for each step",
      confirm: "",
    },
    words: [0, 1],
  },
  completions: {
    usage: "completions bash|zsh|fish",
    summary: "print the completions for a shell",
    more: `bash: tapdeck completions bash >~/.local/share/bash-completion/completions/tapdeck
zsh:  tapdeck completions zsh >FOLDER/_tapdeck, with a FOLDER of $fpath
fish: tapdeck completions fish >~/.config/fish/completions/tapdeck.fish`,
    words: [1, 1],
  },
  version: {
    usage: "version",
    summary: "print the version",
    more: "",
    options: { json },
  },
  help: { usage: "help [COMMAND]", summary: "print this, or more on a command", more: "", words: [0, 1] },
} as const satisfies Readonly<Record<string, CommandHelp>>;

export type CommandName = keyof typeof help;
export const commandHelp: Readonly<Record<CommandName, CommandHelp>> = help;
export const commandNames = Object.keys(help).filter(isCommand);

/** Options of every command. */
export const commonOptions: { readonly [Name in OptionName]?: string } = {
  config: "settings (~/.config/tapdeck/config.toml)",
  data: "database and media (~/.local/share/tapdeck), and config.toml without --config",
  host: "commands: the deck on another machine, which this computer has joined (tapdeck join)",
  port: "commands: the service's port, if it differs from the settings",
  timeout: "commands: how long to wait for the service (3000; update: 30000)",
  help: "this, or more on a command: tapdeck tap --help",
  version: "the version",
};

export function isCommand(word: string): word is CommandName {
  return Object.hasOwn(help, word);
}

export function isOption(name: string): name is OptionName {
  return Object.hasOwn(optionForms, name);
}
