/**
 * Files that a program of this device interprets: scripts, executables and desktop files. They are no media, so only an owner
 * may send them. The extension decides before an upload, and the first bytes decide before the file becomes visible.
 */

/** `programKind` reads this many bytes of a file. */
export const programStartBytes = 4096;

// Systems of `systems.jsonl` have files with some of these extensions. Lutro and Hypseus give their Lua all of its library.
const scripts: ReadonlySet<string> = new Set(
  `.sh .bash .zsh .ksh .csh .fish .command .run .desktop .directory .service .py .pyc .pyz .pyw .pl .pm .rb .tcl .awk
   .lua .luac .lutro .singe .love .js .mjs .cjs .ts .php .ps1 .psm1 .vbs .wsf .hta .html .htm .xhtml .url .lnk .pif .scr .msi
   .wine .wsquashfs .appimage .flatpak .flatpakref .flatpakrepo .snap .deb .rpm .so .dll .class`.split(/\s+/),
);

/** Whether files with this extension, in lower case with its dot, are interpreted by a program of this device. */
export function isProgramExtension(extension: string): boolean {
  return scripts.has(extension);
}

// Programs of emulated machines. Computers use the same formats.
const emulatedElf: ReadonlySet<string> = new Set([".elf", ".axf", ".prx", ".rpx", ".o", ".cof"]);
const emulatedDos: ReadonlySet<string> = new Set([".exe", ".com", ".dos", ".pc", ".bat"]);

/** The kind of program whose file begins with these bytes, for a sentence; undefined for other files. */
export function programKind(start: Uint8Array, extension: string): string | undefined {
  const text = new TextDecoder("latin1").decode(start.subarray(0, programStartBytes));
  // Interpreters skip blanks and a byte order mark, although the kernel does not.
  const words = text.replace(/^\u00ef\u00bb\u00bf/, "").trimStart();
  if (words.startsWith("#!")) return "a script";
  if (words.startsWith("<?php")) return "a PHP script";
  if (isDesktopFile(words)) return "a desktop file";
  if (text.startsWith("\x7fELF") && !emulatedElf.has(extension)) return "a program for Linux";
  if (text.startsWith("MZ") && !emulatedDos.has(extension)) return "a program for Windows or DOS";
  if (text.startsWith("\x1bLua") || text.startsWith("\x1bLJ")) return "a compiled Lua script";
  if (isPythonBytecode(start)) return "a compiled Python script";
  if (text.startsWith("\u00ca\u00fe\u00ba\u00be")) return "a Java class";
  return undefined;
}

/** The first line that is neither empty nor a comment is the head of a group (Desktop Entry Specification 1.5, 3). */
function isDesktopFile(text: string): boolean {
  const first = text.split(/[\r\n]+/).find((line) => !/^\s*(#|$)/.test(line));
  return /^\s*\[(Desktop Entry|Flatpak (Ref|Repo))\]/.test(first ?? "");
}

/** True for the head of Python's bytecode: a number of the version, CR LF, and flags below 4 (PEP 552). */
function isPythonBytecode(start: Uint8Array): boolean {
  const [, , cr, lf, flags = 4, ...rest] = start.subarray(0, 8);
  return cr === 0x0d && lf === 0x0a && flags < 4 && rest.length === 3 && rest.every((byte) => byte === 0);
}
