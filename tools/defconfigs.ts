/**
 * Makes `buildroot/configs/*_defconfig` from the fragments: `bun tools/defconfigs.ts`. Options belong in fragments; this file only
 * lists the fragments of each board.
 */
import { join } from "node:path";

const folder = join(import.meta.dir, "../buildroot");
const common = ["toolchain", "system", "storage", "tapdeck", "media", "video", "games", "network"] as const;
const pi = ["raspberrypi", ...common, "video-raspberrypi", "wifi-raspberrypi"] as const;

/** Fragments that no board includes by default: `make image WITH=<name>` adds them. */
export const optional: readonly string[] = ["cores-noncommercial"];

/** Fragments of each board, in the order of their lines in its defconfig. */
export const boards: Readonly<Record<string, readonly string[]>> = {
  tapdeck_zero2w: ["board-zero2w", ...pi],
  tapdeck_pi3: ["board-pi3", ...pi],
  tapdeck_pi4: ["board-pi4", ...pi],
  tapdeck_qemu: ["board-qemu", ...common],
};

/** The text of a board's defconfig: every line of its fragments, without comments, which Buildroot does not keep. */
export async function defconfigOf(fragments: readonly string[]): Promise<string> {
  const texts = await Promise.all(
    fragments.map((name) => Bun.file(join(folder, "fragments", `${name}.fragment`)).text()),
  );
  const lines = texts.flatMap((text) => text.split("\n")).filter(isOption);
  return `${lines.join("\n")}\n`;
}

/** True for `BR2_X=y`, and for `# BR2_X is not set`, which is Kconfig's form of "no". */
export function isOption(line: string): boolean {
  return line.startsWith("BR2_") || /^# BR2_\w+ is not set$/.test(line);
}

if (import.meta.main) {
  for (const [name, fragments] of Object.entries(boards))
    await Bun.write(join(folder, "configs", `${name}_defconfig`), await defconfigOf(fragments));
}
