/**
 * The config file that explains itself: every key with its default behind a `#`, and a sentence. A line that begins with
 * `#` and no space is a default, and may be uncommented as it is; prose and examples have a space.
 */

/** The text of the file; what it states is exactly the defaults. */
export function template(): string {
  return text;
}

const text = `# The settings of Tapdeck. Each key stands here with its default, behind a #.
# Take the # away and change the value; what you save is in use a moment later, unless its sentence says otherwise.

[api]
# The port of the control API and the web page. A change takes effect at the next start.
#port = 7497

# The addresses to listen on, such as "127.0.0.1"; an empty list means all. A change takes effect at the next start.
#listen = []

# The port for TLS; 0 switches it off. A change takes effect at the next start.
#tls_port = 7498

# Who may launch by opening an address such as http://this-device:7497/l/SNES/Game.sfc: nobody (false), anybody on the
# network (true), or only what one of these patterns matches as a whole, such as ["SNES/.*"]. Of several commands, joined
# by ||, each must match one by itself; a pattern that names \\|\\| matches texts of exactly as many commands as it names. A
# text with .., ^ or [[ never matches. A browser asks for one press first.
#allow_launch = false

# Host names, besides its own, by which this device may be called.
#allowed_hosts = []

# Web sites whose pages may speak to this device, such as "https://deck.example".
#allowed_origins = []

# Whether programs of every user of this device may control the service where it runs as root.
#allow_anonymous_local = false

# What callers from the network may do over TLS without being paired: "none"; "look" at the state and the media; "play",
# which also starts and stops media; or "change", which also covers cards, mappings and settings. The variable
# TAPDECK_ANONYMOUS, which the SD image sets from anonymous= in tapdeck.conf, takes the place of this.
#anonymous = "play"

# Whether phone apps that know only the older, weaker encryption (version 1) may pair by PIN and come in: see
# tapdeck pair --help. Their sessions have no forward secrecy: who steals a phone's key can read what was recorded before.
#allow_v1_clients = false

[readers]
# Readers that are always wanted, as "driver:path": "pn532-uart:/dev/ttyUSB0", "acr122u-usb:1-1.4", "toypad:/dev/hidraw0",
# "file:/run/deck/card", "serial-line:/dev/ttyACM0?baud=115200", or a reader that types by its USB id,
# "hid-keyboard:08ff:0009?layout=us".
#connect = []

# Whether readers are found by themselves when they are plugged in. A serial adapter where none answers is left alone
# after four tries within eleven minutes, until it is plugged in anew; what connect names is tried for ever.
#detect = true

# Whether taking the card off the reader stops what it started.
#insert_mode = false

# Systems that are never stopped that way, such as "SNES".
#insert_mode_blocklist = []

# How many seconds a card may be off the reader before that stops anything.
#insert_mode_exit_delay = 0

[audio]
# Whether short sounds tell of a card that was read, a launch that failed, a card that the guard asks for once more, play
# time that ends, a tag that was written, and the start. It takes pw-play, paplay or aplay.
#feedback = true

# The loudest that cards and programs may make a player (mpv, RetroArch) or the device, in percent.
#volume_max = 100

[log]
# Whether anything is logged at all.
#console = true

# Whether the log holds every detail, the text of cards among them.
#debug = false

[systems]
# The folders that hold media, each with one folder a system; an empty list means the folder "media" beside the database.
#root_folders = []

# Folders of single systems that lie elsewhere, such as { SNES = ["/games/snes"], PSX = ["/games/ps1", "/more/ps1"] }.
#folders = {}

# Folders in which the system mounts USB sticks, such as "/run/media/alex": each stick that appears there is a root folder for as
# long as it is plugged in. The variable TAPDECK_REMOVABLE, which the SD image sets to /media/usb, takes the place of this.
#removable_folders = []

# Where a card names a title that several files have: the regions to prefer, the best first, as they stand in the names
# of the files.
#prefer_regions = ["World", "USA", "Europe", "Japan"]

# The same for languages; regions come first.
#prefer_languages = ["En"]

[script]
# Commands that a card may run with **execute: patterns that match the whole command line. An empty list means none.
#allow_execute = []

# Addresses that a card may call with **http.get and **http.post: patterns that match all of it. An empty list means none.
#allow_http = []

# Whether cards and callers may press keys of a virtual keyboard and gamepad. Keys reach whatever has the focus, a terminal too.
#allow_input = false

[launch]
# Whether a card must be put on twice, within ten seconds, before it ends what plays and starts something else.
#guard = false

[retroarch]
# Whether a game goes on where it was left: its end writes a save state, and its next start loads that. A card says otherwise
# with ?resume=no or ?resume=yes. States then lie in folders by system and core below RetroArch's own folder for them.
#resume = true

# The folder that keeps what games save. With it a loss of power leaves each file as it was before or after a change, ten
# seconds old at most; RetroArch alone may leave a damaged one. Without it RetroArch's own settings say where saves are.
#saves = ""

[playtime]
# How many minutes may be played on one day; 0 means as many as you like. What is paused does not count, where its player
# tells: mpv always, RetroArch where a card or the API paused it, other players never.
#daily_minutes = 0

# How many minutes may be played in one session; 0 means as many as you like.
#session_minutes = 0

# After a pause of so many minutes a new session begins.
#session_reset_minutes = 20

# How many minutes before the end clients are warned, each once, and a sound is played.
#warning_minutes = [5, 1]

[hooks]
# Scripts that run around your cards; an empty one does nothing. Where one fails, the log says so and nothing else
# happens, but for before_start. What a hook starts calls no hooks. This one runs whenever a card is put on a reader.
#on_scan = ""

# Runs whenever a card is taken off.
#on_remove = ""

# Runs before something is started, which waits for it; where it fails, nothing is started.
#before_start = ""

# Runs when something was started.
#on_start = ""

# Runs when what was started has ended.
#on_stop = ""

# Players of your own come before the built-in ones, each in a part like these. {path} stands for the file, no shell
# reads the command, and an empty list of systems or extensions, or none, means all. cwd is the folder that it works in.
# kind says how a player is spoken with: "mpv" and "retroarch" can be paused, asked how far they are, and more; they need
# no command of their own. A "process" can be started and stopped. core names the libretro core of a "retroarch", or its
# file, where the usual one of the system is not what you want. A "process" that names systems and no extensions may do
# without {path}: **launch.system starts it. Players cannot read Tapdeck's own files, nor make new entries in the folders above
# them, your home folder for instance. confined = false lifts that for a "process" that does not start with it, such as one
# in a flatpak. stop_signal ("TERM", "INT", "QUIT" or "HUP") asks a player to end, and it has
# stop_grace seconds, up to 30, to save what it must before it is made to end: "TERM" and 1 where you say nothing, and 5
# for a "retroarch".
#
# [[launchers]]
# id = "snes9x"
# systems = ["SNES"]
# extensions = [".sfc", ".smc"]
# command = ["snes9x", "-fullscreen", "{path}"]
# kind = "process"
# cwd = "/srv/games"
# env = { SDL_VIDEODRIVER = "kmsdrm" }
# confined = true
# stop_grace = 5
# stop_signal = "INT"
#
# [[launchers]]
# id = "nes"
# systems = ["NES"]
# kind = "retroarch"
# core = "nestopia"
`;
