/**
 * BusyBox for the stand-in image, compiled from the source of Debian's package with the options of Buildroot's configuration and of
 * ours. Debian's own program has other applets, and its shell runs them by their name even if they have no file.
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { unpackSource } from "./debs.ts";
import { readFacts } from "./facts.ts";
import { root } from "./meta.ts";
import { run } from "./run.ts";

const folder = join(root, "build/image/busybox");
const program = join(folder, "busybox");
// The program does not contain the time of the build, so two builds are the same.
const make = [
  ...["env", "KCONFIG_NOTIMESTAMP=1", "make", "--silent"],
  ...["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"],
];

/** Returns the path of the program, which is static, and is kept until `make clean` or a change of its options. */
export async function compileBusyBox(): Promise<string> {
  const made = join(folder, ".made");
  const wanted = await optionLines();
  if ((await readFile(made, "utf8").catch(() => "")) === wanted) return program;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const source = await unpackSource("busybox", folder);
  await run([...make, "defconfig"], { cwd: source });
  const config = join(source, ".config");
  const changed = new Set(wanted.match(/CONFIG_\w+/g));
  const kept = (await readFile(config, "utf8"))
    .split("\n")
    .filter((line) => !changed.has(/CONFIG_\w+/.exec(line)?.[0] ?? ""));
  await writeFile(config, `${kept.join("\n")}\n${wanted}`);
  // This version of BusyBox may have options that the list does not know: they get their defaults.
  await run(["sh", "-c", `yes "" | "$@" oldconfig >/dev/null`, "sh", ...make], { cwd: source });
  await run([...make, "-j2", "busybox"], { cwd: source });
  await rename(join(source, "busybox"), program);
  await rm(source, { recursive: true });
  await writeFile(made, wanted);
  return program;
}

/** Lines of a configuration of BusyBox. The last line of an option is used. */
async function optionLines(): Promise<string> {
  const { on, off } = readFacts().busybox;
  const fragment = await readFile(join(root, "buildroot/board/common/busybox.fragment"), "utf8");
  const ours = [...fragment.matchAll(/^CONFIG_(\w+)=(.*)$/gm)];
  const values = new Map<string, string>([
    ...off.map((name) => [name, "n"] as const),
    ...on.map((name) => [name, "y"] as const),
    ...ours.map(([, name = "", value = ""]) => [name, value] as const),
    ["STATIC", "y"],
  ]);
  return [...values]
    .map(([name, value]) => (value === "n" ? `# CONFIG_${name} is not set\n` : `CONFIG_${name}=${value}\n`))
    .join("");
}
