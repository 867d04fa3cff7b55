/** Files that a program of the device interprets, by their names and first bytes. */
import { expect, test } from "bun:test";
import { isProgramExtension, programKind } from "../../../src/media/program-files.ts";

const bytesOf = (text: string) => Uint8Array.from(text, (sign) => sign.charCodeAt(0));
const kindOf = (text: string, extension = ".sfc") => programKind(bytesOf(text), extension);

test("scripts, desktop files and packages are programs by name, whatever systems have them", () => {
  const programs = [".sh", ".desktop", ".appimage", ".lua", ".lutro", ".py", ".url", ".so", ".flatpakref"];
  expect(programs.filter((extension) => !isProgramExtension(extension))).toEqual([]);
  const media = [".sfc", ".exe", ".elf", ".zip", ".m3u", ".cue", ".mp4", ".p8", ".jar", ""];
  expect(media.filter(isProgramExtension)).toEqual([]);
});

test("programs are known by their first bytes under each other name", () => {
  expect(
    [
      "#!/bin/sh\nid\n",
      "\xef\xbb\xbf#!/bin/sh\n",
      "\n  #! /usr/bin/python3\n",
      "<?php system('id');",
      "# by mallory\n\n[Desktop Entry]\nExec=id\n",
      "[Flatpak Ref]\n",
      "\x7fELF\x02\x01\x01",
      "MZ\x90\0",
      "\x1bLua\x54",
      "\x1bLJ\x02",
      "\xcb\x0d\x0d\x0a\0\0\0\0",
      "\xca\xfe\xba\xbe\0\0\0\x41",
    ].filter((start) => kindOf(start) === undefined),
  ).toEqual([]);
});

test("games and media are no programs, nor are programs of emulated machines by their own names", () => {
  expect(kindOf("MZ\x90\0", ".exe")).toBeUndefined();
  expect(kindOf("\x7fELF", ".elf")).toBeUndefined();
  expect(kindOf("\x7fELF", ".exe")).toBe("a program for Linux");
  expect(kindOf("MZ", ".elf")).toBe("a program for Windows or DOS");
  for (const start of ["", "#EXTM3U\n", "# a comment\nSonic.md\n", "[playlist]\n", "PK\x03\x04", "NES\x1a"])
    expect(kindOf(start)).toBeUndefined();
  // CR LF in the third and fourth byte, as in Python's bytecode, but with other flags.
  expect(kindOf("\x01\x02\x0d\x0a\x04\0\0\0")).toBeUndefined();
});

test("each cut of a program's start gives the same kind or none", () => {
  const whole = "#!/bin/sh\n";
  for (let cut = 0; cut <= whole.length; cut++)
    expect(kindOf(whole.slice(0, cut))).toBe(cut < 2 ? undefined : "a script");
});
