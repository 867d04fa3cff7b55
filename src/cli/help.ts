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
    summary: "tap a card with this text, and print the result",
    more: `On the simulated reader if there is one, so that the bytes run through the real driver; else on a virtual one.
  --uid HEX   the card's UID (14 digits on the simulated reader)
  --for MS    remove it after this many milliseconds (500)
Exit code 1 if the launch failed.`,
    options: ["uid", "for"],
    words: [1, 1],
  },
  write: {
    usage: "write TEXT | --list FILE",
    summary: "write TEXT to a tag, or one line of FILE to each",
    more: `TEXT is a path, a title, or a script. Lay a tag on the reader within 28 seconds; a tag that lies there already is
used at once. It is formatted if needed, read back, and not launched until it is laid on again.
  --list FILE   many tags in a row: it asks for one after another, and Ctrl-C ends
  --reader ID   on this reader (tapdeck readers lists them), instead of the first that can write
  --force       overwrites data of another kind, too
Exit code 1 if the tag was not written.`,
    options: ["list", "reader", "force"],
    words: [0, 1],
  },
  index: {
    usage: "index [SYSTEM ...]",
    summary: "look for media, and show the progress",
    more: "SYSTEM is an id such as SNES; without one, all systems are indexed.",
    words: [0, 64],
  },
  search: {
    usage: "search WORDS [--json]",
    summary: "list media with every word in their name",
    more: "Each line is a text for a card: tapdeck write LINE\n  --json   in the form of the API",
    options: ["json"],
    words: [1, 32],
  },
  call: {
    usage: "call METHOD [JSON]",
    summary: "call a method of the API and print its result",
    more: `JSON holds the params: tapdeck call tokens.history '{"limit":5}'
A mapping of mappings.new is enabled unless it says otherwise. Exit code 1 if the service refused.`,
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
    more: "  --json   in the form of the API",
    options: ["json"],
  },
  pair: {
    usage: "pair [NAME] [--role ROLE] [--card | --code | --pin | --bearer NAME | --list | --revoke ID]",
    summary: "pair a phone: a QR code, a card, or a short code",
    more: `Shows a link as a QR code. A phone that opens it is paired with this device. NAME is its name in the list.
A link that nobody opens within ten minutes expires.
  --role ROLE   member, the default, may do everything except administer the device; player may look, start and stop media
  --card        write the link to a card instead, which opens it on a phone; --reader ID and --force as in tapdeck write
  --code        show six digits to type into the phone, valid for ten minutes and three tries
  --pin         the same for an app that knows only the older encryption (api.allow_v1_clients), valid for five minutes
  --bearer NAME make a client for a program that speaks HTTPS, and print its bearer token once
  --list        list the paired phones and programs, with role, age and last use; --json as JSON
  --revoke ID   end a pairing, by its id or its name
  --host HOST   put this name or address of the device into the link
After the link it prints the SHA-256 of the certificate, as browsers show it for https.
Exit code 1 if nothing was paired.`,
    options: ["card", "code", "pin", "list", "revoke", "host", "bearer", "role", "reader", "force", "json"],
    words: [0, 1],
  },
  ping: {
    usage: "ping [--timeout MS]",
    summary: "exit with 0 if the service answers",
    more: "  --timeout MS   wait this long (3000)",
  },
  audit: {
    usage: "audit [-n N] [--json]",
    summary: "show pairings, refusals, and remote launches and changes",
    more: `  -n, --lines N   the newest N lines (20)
  --json          an entry a line, in the form of the API
Equal refusals and launches are counted together; tapdeck call tokens.history lists the launches.`,
    options: ["lines", "json"],
  },
  config: {
    usage: "config [--write]",
    summary: "print a settings file with every key and its default",
    more: `  --write   write it to the service's settings file, unless that exists`,
    options: ["write"],
  },
  update: {
    usage: "update FILE | --status | --undo",
    summary: "update the system of Tapdeck's own image",
    more: `As root, in the image's shell. FILE is a signed bundle. It is checked as a whole, written beside the running
system, read back, and tried. It is kept after a healthy minute; otherwise the old system starts again by itself.
  --allow-older   accept a version older than the running one
  --status        show the systems in the two slots
  --undo          try the system from before the last update
Exit code 1 if the file was refused; then nothing was written.`,
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
  --data FOLDER   database and media (~/.local/share/tapdeck); its config.toml is used without --config
  --port N        commands: the service's port, if it differs from the settings
  --timeout MS    commands: how long to wait for the service (3000)
  --help          this, or more on a command: tapdeck tap --help
  --version       the version

Exit codes: 0 success, 1 refused or failed, 64 wrong usage, 69 service not reachable or port in use,
73 no place for data, 78 wrong settings.
`;
}
