/** Other people's driver is the judge of our emulator: Debian's libnfc must find and read its tags. */
import { expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPn532Device } from "../../drivers/emulator/pn532-device.ts";
import { createType2Tag, type EmulatedTag, type Type2Kind } from "../../drivers/emulator/tags.ts";

const uid = Uint8Array.fromHex("04112233445566");

/** It asks whether to write the one-time pages too. */
const noToAll = new Blob(["n\nn\nn\n"]);

/** Runs one of libnfc's programs on an emulated chip with this tag in its field. */
async function libnfc(tag: EmulatedTag, command: readonly string[], cwd = tmpdir()): Promise<string> {
  const device = createPn532Device({ timing: "none" });
  try {
    device.put(tag);
    const environment = { LIBNFC_AUTO_SCAN: "false", LIBNFC_DEFAULT_DEVICE: `pn532_uart:${device.path}` };
    const child = Bun.spawn([...command], {
      cwd,
      env: { ...process.env, ...environment },
      stdin: noToAll,
      stdout: "pipe",
      stderr: "pipe",
    });
    const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
    await child.exited;
    return said;
  } finally {
    await device.close();
  }
}

test("nfc-list finds the emulator's tag with its UID, ATQA and SAK", async () => {
  const said = await libnfc(createType2Tag("ntag213", { uid, text: "hello" }), ["nfc-list"]);
  expect(said).toContain("UID (NFCID1): 04  11  22  33  44  55  66");
  expect(said).toContain("ATQA (SENS_RES): 00  44");
  expect(said).toContain("SAK (SEL_RES): 00");
});

const kinds: readonly Type2Kind[] = ["ntag213", "ntag215", "ntag216", "ultralight", "ultralight-ev1"];
for (const kind of kinds) {
  test(`nfc-mfultralight reads the memory of an emulated ${kind}, to the byte`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-libnfc-"));
    try {
      const tag = createType2Tag(kind, { uid, text: "hello" });
      const said = await libnfc(tag, ["nfc-mfultralight", "r", "dump.mfd"], folder);
      expect(said).toContain(`${tag.memory.length / 4} of ${tag.memory.length / 4} pages read`);
      const dump = new Uint8Array(await readFile(join(folder, "dump.mfd")));
      expect(dump.subarray(0, tag.memory.length).toHex()).toBe(tag.memory.toHex());
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

test("nfc-mfultralight writes the pages of an emulated ultralight", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-libnfc-"));
  try {
    const tag = createType2Tag("ultralight", { uid, text: "before" });
    const wanted = createType2Tag("ultralight", { uid, text: "afterwards" });
    await writeFile(join(folder, "new.mfd"), wanted.memory);
    await libnfc(tag, ["nfc-mfultralight", "w", "new.mfd"], folder);
    expect(tag.memory.subarray(16).toHex()).toBe(wanted.memory.subarray(16).toHex());
  } finally {
    await rm(folder, { recursive: true });
  }
});
