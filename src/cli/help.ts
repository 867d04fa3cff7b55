/** The help text of the program and of each command, in the order of the help text. */

interface CommandHelp {
  readonly usage: string;
  readonly summary: string;
  readonly more: string;
  /** Without the dashes; options that every command takes are not listed. */
  readonly options?: readonly string[];
  /** How many words follow the command; none if absent. */
  readonly words?: readonly [min: number, max: number];
}

const help = {
  tap: {
    usage: "tap TEXT [--uid HEX] [--for MS]",
    summary: "tap a card that says TEXT, and tell what came of it",
    more: `On the simulated reader where there is one, so that the bytes run through the real driver; else on a virtual one.
  --uid HEX   the card's UID (14 digits on the simulated reader)
  --for MS    take it off after so many milliseconds (500)
Exit code 1 where the launch failed.`,
    options: ["uid", "for"],
    words: [1, 1],
  },
  write: {
    usage: "write TEXT | --list FILE",
    summary: "write TEXT to a tag, or one line of FILE to each",
    more: `TEXT is what a card says: a path, a title, or a script. Lay a tag on the reader within 30 seconds; one that lies
there already is taken at once. It is formatted where needed, read back, and not launched until it is laid on again.
  --list FILE   many tags in a row: it asks for one after another, and Ctrl-C ends
  --reader ID   on this reader (tapdeck readers lists them), not on the first that can write
  --force       also a tag that holds data of another kind
Exit code 1 where the tag was not written.`,
    options: ["list", "reader", "force"],
    words: [0, 1],
  },
  index: {
    usage: "index [SYSTEM ...]",
    summary: "look for media, and show how far it is",
    more: "SYSTEM is an id such as SNES; without one, all systems are looked through.",
    words: [0, 64],
  },
  search: {
    usage: "search WORDS [--json]",
    summary: "list media whose name holds every word",
    more: "Each line can be put on a card as it is: tapdeck write LINE\n  --json   as the API gives them",
    options: ["json"],
    words: [1, 32],
  },
  call: {
    usage: "call METHOD [JSON]",
    summary: "call a method of the API and print its result",
    more: `JSON holds the params: tapdeck call tokens.history '{"limit":5}'
Exit code 1 where the service refused.`,
    words: [1, 2],
  },
  watch: {
    usage: "watch [--json]",
    summary: "show taps, launches and media as they happen",
    more: "  --json   whole notifications, one a line\nEnd it with Ctrl-C.",
    options: ["json"],
  },
  readers: {
    usage: "readers [--json]",
    summary: "list the readers",
    more: "  --json   as the API gives them",
    options: ["json"],
  },
  pair: {
    usage: "pair [NAME] [--role ROLE] [--card | --code | --pin | --bearer NAME | --list | --revoke ID]",
    summary: "let a phone in: a QR code, a card, or a short code",
    more: `Shows a link as a QR code: whoever opens it on a phone can use this device from there. NAME is how you know it later.
A link that nobody opens within ten minutes expires.
  --role ROLE   member, the default, may do everything but pair others; player may look at media, start and stop it
  --card        write the link to a card instead, and tap the phone on that; --reader ID and --force as in tapdeck write
  --code        show six digits to type into the phone, good for ten minutes and three tries
  --pin         the same for an app that knows the older encryption only (api.allow_v1_clients), good for five minutes
  --bearer NAME make a client for a program that speaks HTTPS, and print its bearer token once
  --list        the phones and programs that were let in, with role, age and last use; --json as JSON
  --revoke ID   shut one out, by its id or its name
  --host HOST   put this name or address of the device into the link
Behind the link, the SHA-256 of the certificate, as browsers show it for https.
Exit code 1 where nothing was paired.`,
    options: ["card", "code", "pin", "list", "revoke", "host", "bearer", "role", "reader", "force", "json"],
    words: [0, 1],
  },
  ping: {
    usage: "ping [--timeout MS]",
    summary: "exit code 0 where the service answers",
    more: "  --timeout MS   wait so long (3000)",
  },
  audit: {
    usage: "audit [-n N] [--json]",
    summary: "show who was let in, turned away, or launched from afar",
    more: `  -n, --lines N   the newest N lines (20)
  --json          an entry a line, as the API gives them
Refusals and launches of a kind are counted together; tapdeck call tokens.history tells what was launched.`,
    options: ["lines", "json"],
  },
  config: {
    usage: "config [--write]",
    summary: "print a settings file with every key and its default",
    more: `  --write   make it where the service looks for its settings; a file that is there is left alone`,
    options: ["write"],
  },
  update: {
    usage: "update FILE | --status | --undo",
    summary: "put a new system on Tapdeck's own image",
    more: `As root, in the image's shell. FILE is a signed bundle. It is checked as a whole, written beside the system that
runs, read back, and tried: kept after a healthy minute, else the system before comes back by itself.
  --allow-older   also a version before the one that runs
  --status        what the two slots hold
  --undo          try the system before the last update again
Exit code 1 where the file was refused; then nothing was written.`,
    options: ["allow-older", "status", "undo", "confirm"],
    words: [0, 1],
  },
} as const satisfies Readonly<Record<string, CommandHelp>>;

export type CommandName = keyof typeof help;
export const commandHelp: Readonly<Record<CommandName, CommandHelp>> = help;
export const commandNames = Object.keys(help).filter(isCommand);

export function isCommand(word: string): word is CommandName {
  return Object.hasOwn(help, word);
}

export function helpText(command: CommandName | undefined): string {
  if (command !== undefined) {
    const { usage, summary, more } = commandHelp[command];
    return `tapdeck ${usage}\n\n${summary}\n\n${more}\n`;
  }
  const list = Object.values(commandHelp).map(
    ({ usage, summary }) => `  tapdeck ${usage.padEnd(34)} ${summary}`,
  );
  return `Tap a card, and the game, song or film on it starts.

  ${"tapdeck".padEnd(42)} start the service
${list.join("\n")}

  --config FILE   settings (~/.config/tapdeck/config.toml)
  --data FOLDER   database and media (~/.local/share/tapdeck); its config.toml is used where --config names none
  --port N        commands: the service's port, where not the one in the settings
  --timeout MS    commands: how long to wait for the service (3000)
  --help          this, or more on a command: tapdeck tap --help
  --version       the version

Exit codes: 0 well, 1 refused or failed, 64 wrong usage, 69 not to be reached or port in use, 73 no place for data,
78 wrong settings.
`;
}
