/**
 * A launcher that runs its file as a program, instead of reading it as media: `{path}` is the program of the command, or
 * the script of an interpreter. A wrapper such as `env` or `nice` is skipped, and the text of `sh -c` is read. An unclear
 * command counts as running its file. A program that this file does not know counts as a player.
 */
import type { LauncherConfig } from "../config/launcher-settings.ts";
import { systemByName } from "../media/known-systems.ts";

/**
 * The first launcher that would run a file with this extension. It may be for any system and launcher that a card can
 * name.
 */
export function runnerOf(
  extension: string,
  systemId: string,
  launchers: readonly LauncherConfig[],
): LauncherConfig | undefined {
  return launchers.find(
    (launcher) => mayTake(launcher, extension, systemId) && runsItsFile(launcher.command),
  );
}

/** A card may name any system that has the extension. A launcher with a list of extensions is judged by that list. */
function mayTake({ systems, extensions }: LauncherConfig, extension: string, systemId: string): boolean {
  if (extensions.length > 0) return extensions.includes(extension);
  if (systems.length === 0) return true;
  const known = systems.flatMap((name) => systemByName(name) ?? []);
  return known.some((system) => system.id === systemId || system.extensions.includes(extension));
}

const file = "{path}";

/** Whether the command runs its file. */
export function runsItsFile(command: readonly string[]): boolean {
  const isCode = (word: string, at: number) =>
    word.includes(file) &&
    (codeOptions.has(command[at - 1] ?? "") || codeOptions.has(word.split("=")[0] ?? ""));
  return command.some(isCode) || isRunBy(command);
}

/** Options whose value a player loads as code or as settings. */
const codeOptions = setOf(
  "-L --libretro --config --appendconfig --script --scripts --include --config-dir --input-conf --use-filedir-conf",
);

const shells = setOf("sh bash dash ash zsh ksh mksh yash fish csh tcsh");

/** Programs that run a script. Options before the script are allowed. */
const interpreters = setOf(
  `python pypy perl ruby lua luajit node nodejs deno bun php tclsh wish awk gawk mawk make guile racket ocaml rscript julia
   osascript expect gdb`,
);

/** Programs that run any file, or open it with any program. */
const openers = setOf(
  `xdg-open gio gtk-launch exo-open kde-open kioclient mimeopen dex run-parts run-mailcap wine wine-stable wine-staging proton
   box box86 fexinterpreter fexloader mono java dotnet love lovr flatpak snap steam lutris umu-run electron chromium
   chromium-browser google-chrome firefox epiphany cog npx tsx`,
);

/** Programs that start another one: their options with a value, and the number of operands before that program. */
const starters: ReadonlyMap<string, { readonly valued: ReadonlySet<string>; readonly operands: number }> =
  new Map(
    (
      [
        ["env", "-u --unset -C --chdir", 0],
        ["nice", "-n --adjustment", 0],
        ["ionice", "-c --class -n --classdata", 0],
        ["chrt", "-T -P -D", 1],
        ["taskset", "", 1],
        ["timeout", "-k --kill-after -s --signal", 1],
        ["stdbuf", "-i --input -o --output -e --error", 0],
        ["time", "-f --format -o --output", 0],
        ["exec", "-a", 0],
        ["sudo", "-u --user -g --group -C -D -h -p -R -T -U", 0],
        ["doas", "-u -C", 0],
        ["runuser", "-u --user -g --group -G", 0],
        ["chroot", "", 1],
        ["flock", "-w --timeout -E", 1],
        ["systemd-run", "-p --property -u --unit -E --setenv -M -H --slice --description", 0],
        ["xvfb-run", "-n -s -e -f -w -p", 0],
        ["gamescope", "-W -H -w -h -r -o -F -S -O -m", 0],
        ["strace", "-e -o -p -s -u", 0],
        ["watch", "-n --interval", 0],
        ["xargs", "-a -d -E -I -L -n -P -s", 0],
        ["cgexec", "-g", 0],
        ["ld.so", "--library-path --preload --argv0 --audit", 0],
        ...words(
          `nohup setsid command builtin busybox toybox dbus-run-session dbus-launch startx xinit cage gamemoderun mangohud
         prlimit unshare nsenter firejail bwrap proot fakeroot valgrind perf parallel tini dumb-init numactl cpulimit uwsm
         pw-jack padsp prime-run primusrun optirun linux setarch setpriv systemd-inhibit tapdeck-confine`,
        ).map((name) => [name, "", 0] as const),
      ] satisfies readonly (readonly [string, string, number])[]
    ).map(([name, valued, operands]) => [name, { valued: setOf(valued), operands }]),
  );

/** The first word is a program, or a variable of `env`. */
function isRunBy(command: readonly string[]): boolean {
  const [program = "", ...rest] = command;
  if (program.includes(file)) return true;
  if (/^\w+=/.test(program)) return isRunBy(rest);
  const name = nameOf(program);
  if (openers.has(name)) return rest.some((word) => word.includes(file));
  if (shells.has(name)) return isShellScript(rest);
  if (interpreters.has(name)) return isScript(rest);
  return starters.has(name) && isStarted(name, rest);
}

/** The name of a program without folder, version and `.exe`: `python` for `/usr/bin/python3.11`. */
function nameOf(program: string): string {
  const name = (program.split("/").at(-1) ?? "").toLowerCase().replace(/\.exe$/, "");
  if (/^ld(-linux|-musl)?\b.*\.so\b/.test(name)) return "ld.so";
  // Such an emulator runs a program of another processor. `qemu-system-…` is a machine, and takes disks.
  if (/^qemu-(?!system)/.test(name)) return "box";
  return name.replace(/[-.]?\d[\d.]*$/, "");
}

function isStarted(name: string, given: readonly string[]): boolean {
  const { valued = none, operands = 0 } = starters.get(name) ?? {};
  // `env -S` splits its value into words.
  const rest = given.flatMap((word) =>
    name === "env" && /\s/.test(word) ? words(word.replace(/^-\w*S/, "")) : word,
  );
  let at = 0;
  let left = operands;
  for (; at < rest.length; at++) {
    const word = rest[at] ?? "";
    if (valued.has(word)) at += 1;
    else if (/^\w+=.*\{path\}/.test(word)) return true;
    else if (!/^(-|\w+=)/.test(word) && left-- <= 0) break;
  }
  const isHidden = (word: string, place: number) => isInterpreter(nameOf(word)) && isRunBy(rest.slice(place));
  return isRunBy(rest.slice(at)) || rest.some(isHidden);
}

function isInterpreter(name: string): boolean {
  return shells.has(name) || interpreters.has(name) || openers.has(name);
}

const shellValued = setOf("-o +o -O +O --rcfile --init-file");

function isShellScript(rest: readonly string[]): boolean {
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? "";
    if (word.includes(file)) return true;
    if (/^-\w*c\w*$/.test(word)) return isTextThatRuns(rest.slice(at + 1));
    if (shellValued.has(word)) at += 1;
    // The owner's own script reads the file as an argument.
    else if (!/^[-+]/.test(word)) return false;
  }
  return false;
}

/** Whether the text of `sh -c`, after further options, or its arguments run the file. */
function isTextThatRuns(rest: readonly string[]): boolean {
  const at = rest.findIndex((word) => !/^[-+]\w/.test(word));
  const [text = "", ...given] = rest.slice(Math.max(0, at));
  // A shell reads the name itself, which may hold `$(…)`.
  if (text.includes(file)) return true;
  if (!given.some((word) => word.includes(file)) || !/\$[{\d@*#]/.test(text)) return false;
  if (/=\W*\$[{\d@*]/.test(text)) return true;
  const bare = text.replace(/["'\\]/g, "").replace(/\$(\d|[@*]|\{[^}]*\})/g, "\0");
  const commands = bare
    .split(/[;&|\n(){}`<>]|\$\(/)
    .map((part) => words(part.replaceAll("\0", file)).filter((word) => !keywords.has(word)));
  return commands.some(
    (command) => isRunBy(command) || command.some((word) => loaders.has(word) || isInterpreter(nameOf(word))),
  );
}

const keywords = setOf("if then elif else while until do ! time");
const loaders = setOf(". source eval trap");

const inline = /^(-[a-z]*[ceEm]|--eval|--execute|--print|-p|-r)$/;

/** This file does not list the options of each interpreter, so a word after an option may be its value. */
function isScript(rest: readonly string[]): boolean {
  let mayBeValue = false;
  for (const [at, word] of rest.entries()) {
    if (word.includes(file)) return true;
    // A program in the command line cannot be judged. The same applies to a module.
    if (inline.test(word)) return rest.slice(at).some((later) => later.includes(file));
    if (word.startsWith("-")) mayBeValue = word !== "--" && !word.includes("=");
    else if (mayBeValue || subcommands.has(word)) mayBeValue = false;
    else return false;
  }
  return false;
}

const subcommands = setOf("run exec eval x serve inspect");
const none: ReadonlySet<string> = new Set();

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

function setOf(text: string): ReadonlySet<string> {
  return new Set(words(text));
}
