/**
 * Compiles Tapdeck into one file per target: `bun tools/build.ts [x64] [arm64]`; without a name, both.
 *
 * The runtime of the other processor, and its addons, come from the package registry, at the version and hash of
 * package-lock.json. The compiler itself therefore downloads nothing. By default a compiled binary reads `.env` and
 * `bunfig.toml` of its working folder, and would run code from these files. Both are switched off, and so are the
 * variables that control the runtime.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { hidAddon, usbAddon } from "./addons.ts";
import { sealRuntime } from "./sealed-runtime.ts";

const root = join(import.meta.dir, "..");
const targets = { x64: "@oven/bun-linux-x64", arm64: "@oven/bun-linux-aarch64" } as const;
type Target = keyof typeof targets;
/** The addon that drivers/io/usb.ts loads. */
const usbAddons = { x64: "@node-usb/usb-linux-x64-gnu", arm64: "@node-usb/usb-linux-arm64-gnu" } as const;

const asked = process.argv.slice(2);
const wrong = asked.find((name) => !(name in targets));
if (wrong !== undefined) fail(`no target "${wrong}": there are ${Object.keys(targets).join(" and ")}`);
for (const target of Object.keys(targets)) {
  if (asked.length === 0 || asked.includes(target)) await build(target as Target);
}

async function build(target: Target): Promise<void> {
  const outfile = join(root, "dist", `tapdeck-linux-${target}`);
  await mkdir(join(root, "dist"), { recursive: true });
  const sealed = join(root, "build/runtimes", `${target}-sealed`);
  await sealRuntime(await runtimeOf(target), sealed);
  const built = await Bun.build({
    entrypoints: [join(root, "src/main.ts")],
    // Without bytecode each process first parses all sources. A start then takes twice the time, and a command five times.
    bytecode: true,
    format: "esm",
    compile: {
      target: `bun-linux-${target}`,
      executablePath: sealed,
      outfile,
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
    // A module that is not found at build time would be searched for on the machine of the user.
    allowUnresolved: [],
    plugins: [hidAddon(root, target), usbAddon(usbAddons[target], await packageOf(usbAddons[target]))],
    throw: false,
  });
  if (!built.success) fail(built.logs.map(String).join("\n"));
  if (target === hostTarget()) await linkForPeople(`tapdeck-linux-${target}`);
  process.stdout.write(
    `${outfile.slice(root.length + 1)}: ${(Bun.file(outfile).size / 1e6).toFixed(1)} MB\n`,
  );
}

/** Makes `dist/tapdeck`, the name that people type. */
async function linkForPeople(name: string): Promise<void> {
  const link = join(root, "dist/tapdeck");
  await rm(link, { force: true });
  await symlink(name, link);
}

async function runtimeOf(target: Target): Promise<string> {
  return join(await packageOf(targets[target]), "bin/bun");
}

/** The folder of a package: the installed package, or the same package, downloaded and checked by its hash. */
async function packageOf(name: string): Promise<string> {
  const installed = join(root, "node_modules", name);
  if (existsSync(installed)) return installed;
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  const { version, integrity } = lock.packages[`node_modules/${name}`];
  const folder = join(root, "build/packages", `${name.slice(1).replace("/", "-")}-${version}`);
  const unpacked = join(folder, "package");
  if (existsSync(unpacked)) return unpacked;
  const fresh = `${folder}.partial`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  await run("npm", ["pack", "--silent", `${name}@${version}`, `--pack-destination=${fresh}`]);
  const archive = join(fresh, `${name.slice(1).replace("/", "-")}-${version}.tgz`);
  const hash = `sha512-${createHash("sha512")
    .update(await readFile(archive))
    .digest("base64")}`;
  if (hash !== integrity) fail(`${name}@${version} is not what package-lock.json names: ${hash}`);
  await run("tar", ["--extract", "--gzip", `--file=${archive}`, `--directory=${fresh}`]);
  await rename(fresh, folder);
  return unpacked;
}

function hostTarget(): Target {
  return process.arch === "arm64" ? "arm64" : "x64";
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const child = Bun.spawn([program, ...args], { cwd: root, stdout: "pipe", stderr: "pipe" });
  const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  if ((await child.exited) !== 0) fail(`${program} ${args.join(" ")}\n${said}`);
}

function fail(sentence: string): never {
  process.stderr.write(`build: ${sentence}\n`);
  process.exit(1);
}
