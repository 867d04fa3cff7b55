/**
 * The files of a release, made twice from small images with the partitions of a card, and judged by other people's programs: xz,
 * bmaptool, sha256sum, openssl, rauc, jq, and CycloneDX's library with its schema.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  cp,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Ajv } from "ajv";
import { authorityIn, makeAuthority } from "../../tools/image/authority.ts";
import { readMeta } from "../../tools/image/meta.ts";
import { run as runWith } from "../../tools/image/run.ts";
import { root } from "../helpers/buildroot.ts";
import { pythonSetUpMs, pythonWith } from "../helpers/python.ts";

const { version, environment } = readMeta();
const url = "https://downloads.example/tapdeck";
const mib = 1024 ** 2;
// The data partition has room for its journal of 16 MiB.
const sizes = { TAPDECK_BOOT_MIB: "2", TAPDECK_SLOT_MIB: "2", TAPDECK_DATA_MIB: "34" };
const manifest = `"PACKAGE","VERSION","LICENSE","LICENSE FILES","SOURCE ARCHIVE","SOURCE SITE","DEPENDENCIES WITH LICENSES"
"busybox","1.37.0","GPL-2.0, bzip2-1.0.4","LICENSE archival/libarchive/bz/LICENSE","busybox-1.37.0.tar.bz2","https://www.busybox.net/downloads","skeleton-init-common [unknown]"
"skeleton","","unknown","not saved","not saved","not saved",""
"tapdeck","${version}","MIT","LICENSE LICENSE.font","not saved","not saved","libusb [LGPL-2.1+]"
`;

let folder = "";
const at = (...path: readonly string[]) => join(folder, ...path);
/** A program that judges the files of the first release, in their folder. */
const judge = (...command: readonly string[]) => runWith(command, { cwd: at("first") });
const named = (board: string, ending: string) => `tapdeck-${version}-${board}.${ending}`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-release-test-"));
  for (const maker of ["keys", "others"]) await makeAuthority(at(maker));
  for (const board of ["pi4", "zero2w"]) await makeBuild(at("builds", board), board, 300_000);
  await release("first", { boards: ["pi4", "zero2w"] });
}, 180_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The parts of an output folder of Buildroot that a release reads. The files hold noise, which no program can compress. */
async function makeBuild(build: string, board: string, rootBytes: number, maker = at("keys")): Promise<void> {
  const files = {
    "target/etc/tapdeck-release": `Tapdeck ${version}\n`,
    "target/etc/tapdeck/board": `${board}\n`,
    "target/etc/rauc/keyring.pem": await readFile(authorityIn(maker).keyring),
    "target/usr/bin/noise": crypto.getRandomValues(new Uint8Array(65_536)),
    "images/boot/slot-a/Image": crypto.getRandomValues(new Uint8Array(50_000)),
    "images/boot/tapdeck.conf": "#host_name=tapdeck\n",
    "legal-info/manifest.csv": manifest,
  };
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(build, path)), { recursive: true });
    await writeFile(join(build, path), content);
  }
  await truncate(join(build, "target/usr/bin/noise"), rootBytes);
  const images = join(build, "images");
  const squashfs = join(images, "rootfs.squashfs");
  await runWith(["mksquashfs", join(build, "target"), squashfs, "-quiet", "-no-progress", "-all-root"]);
  await symlink("rootfs.squashfs", join(images, "root.squashfs"));
  await runWith(
    [
      ...["genimage", "--rootpath", join(images, "boot"), "--tmppath", join(build, "tmp")],
      ...["--inputpath", images, "--outputpath", images],
      ...["--config", join(root, "buildroot/board/common/genimage.cfg")],
    ],
    { environment: { ...environment, ...sizes } },
  );
}

interface Settings {
  readonly boards: readonly string[];
  readonly builds?: string;
  /** Shell commands that run before the program. */
  readonly shell?: string;
}

async function release(out: string, { boards, builds = "builds", shell = "true" }: Settings): Promise<void> {
  const words = [
    ...[
      process.execPath,
      join(root, "tools/release/main.ts"),
      "--builds",
      at(builds),
      "--authority",
      at("keys"),
    ],
    ...["--url", `${url}/`, "--out", at(out), ...boards],
  ];
  await runWith(["sh", "-c", `${shell}; exec "$@"`, "sh", ...words], {
    environment: { SOURCE_DATE_EPOCH: "" },
  });
}

const bytesOf = (...path: readonly string[]) => readFile(at(...path));
/** A bundle without its tree of hashes and its signature. The size of a squashfs is at its offset 40. */
const contentOf = (bundle: Buffer) => bundle.subarray(0, Number(bundle.readBigUInt64LE(40)));

test("a second release of the same images, by another user's settings, has the same bytes but for salt and signatures", async () => {
  await cp(at("builds"), at("copy"), { recursive: true, verbatimSymlinks: true });
  const shell =
    "umask 077; export TZ=Asia/Tokyo LC_ALL=de_DE.UTF-8 XZ_OPT='-0 --threads=0' XZ_DEFAULTS=--check=none";
  await release("second", { boards: ["zero2w", "pi4"], builds: "copy", shell });
  const names = (await readdir(at("first"))).toSorted();
  expect((await readdir(at("second"))).toSorted()).toEqual(names);
  expect(names).toEqual(
    [
      ...["pi4", "zero2w"].flatMap((board) =>
        ["cdx.json", "img.bmap", "img.xz", "raucb"].map((ending) => named(board, ending)),
      ),
      ...["SHA256SUMS", "SHA256SUMS.p7s", `tapdeck-${version}.rpi-imager-manifest`, "tapdeck.svg"],
    ].toSorted(),
  );
  for (const name of names.filter((one) => !one.startsWith("SHA256SUMS"))) {
    const [first, second] = await Promise.all(["first", "second"].map((out) => bytesOf(out, name)));
    if (first === undefined || second === undefined) throw new Error("no bytes");
    const isBundle = name.endsWith(".raucb");
    expect([name, isBundle ? contentOf(first).equals(contentOf(second)) : first.equals(second)]).toEqual([
      name,
      true,
    ]);
    if (isBundle) expect(contentOf(first).length).toBeGreaterThan(100_000);
  }
  const sums = async (out: string) =>
    (await bytesOf(out, "SHA256SUMS")).toString().replace(/^\w+(?= .*[.]raucb$)/gm, "-");
  expect(await sums("second")).toBe(await sums("first"));
}, 180_000);

test("xz, bmaptool and rauc take the image and the update of each board", async () => {
  for (const board of ["pi4", "zero2w"]) {
    const image = at("builds", board, "images/tapdeck.img");
    await judge("xz", "--test", named(board, "img.xz"));
    // bmaptool finds the map by its name, and compares the sums of all blocks that it writes.
    await judge("bmaptool", "copy", named(board, "img.xz"), at("card.img"));
    expect((await bytesOf("card.img")).equals(await readFile(image))).toBe(true);
    const said = await judge(
      ...["rauc", "info", "--output-format=shell", `--keyring=${authorityIn(at("keys")).keyring}`],
      named(board, "raucb"),
    );
    expect(said).toContain(`RAUC_MF_COMPATIBLE='tapdeck-${board}'\nRAUC_MF_VERSION='${version}'\n`);
  }
}, 180_000);

test("bmaptool refuses an image with another byte, and leaves out what no system reads", async () => {
  const map = named("pi4", "img.bmap");
  const image = await bytesOf("builds/pi4/images/tapdeck.img");
  const text = (await bytesOf("first", map)).toString();
  const ranges = [...text.matchAll(/>(\d+)-(\d+)<\/Range>/g)].map(([, first, last]) => [
    Number(first),
    Number(last),
  ]);
  const rootBlocks = (await bytesOf("builds/pi4/images/rootfs.squashfs")).length / 4096;
  const from = (countMib: number) => (countMib * mib) / 4096;
  expect(ranges).toEqual([
    [0, from(3) - 1],
    [from(3), from(3) + rootBlocks - 1],
    [from(5), from(6) - 1],
    [from(7), image.length / 4096 - 1],
  ]);
  image[3 * mib + 5000] = 1 + (image[3 * mib + 5000] ?? 0);
  await writeFile(at("altered.img"), image);
  await expect(judge("bmaptool", "copy", "--bmap", map, at("altered.img"), at("card.img"))).rejects.toThrow(
    "checksum",
  );
}, 180_000);

test("the command of the documents checks a download, and refuses another sum, another file and another maker", async () => {
  const document = await readFile(join(root, "docs/IMAGE.md"), "utf8");
  const [, command = "no command"] = /```sh\n(openssl cms -verify [\s\S]*?)```/.exec(document) ?? [];
  await cp(at("first"), at("download"), { recursive: true });
  const keyring = at("download/keyring.pem");
  await cp(authorityIn(at("keys")).keyring, keyring);
  const check = () => runWith(["sh", "-c", command], { cwd: at("download") });
  expect((await check()).split("\n").filter((line) => line.endsWith(": OK"))).toHaveLength(10);
  await cp(authorityIn(at("others")).keyring, keyring);
  await expect(check()).rejects.toThrow("verify error");
  await cp(authorityIn(at("keys")).keyring, keyring);
  await writeFile(at("download/tapdeck.svg"), "<svg/>");
  await expect(check()).rejects.toThrow("tapdeck.svg: FAILED");
  const { length } = await bytesOf("download/tapdeck.svg");
  expect(length).toBe(6);
  const [sum = ""] = (await judge("sha256sum", at("download/tapdeck.svg"))).split(" ");
  const sums = (await bytesOf("download/SHA256SUMS")).toString().replace(/^\w+(?= {2}tapdeck[.]svg$)/m, sum);
  await writeFile(at("download/SHA256SUMS"), sums);
  await expect(check()).rejects.toThrow("verification failure");
}, 180_000);

test("Raspberry Pi Imager's list has each board with its sums, and lets its user set the Wi-Fi, the name and the SSH key", async () => {
  const fields =
    "[.name,.url,.extract_size,.extract_sha256,.image_download_size,.image_download_sha256,.init_format,.bmap_url]";
  const filter = `.os_list[] as $os | .imager.devices[] | select(.tags | index($os.devices[0])) | [.name, ($os | ${fields})] | flatten`;
  const said = await judge("jq", "--compact-output", filter, `tapdeck-${version}.rpi-imager-manifest`);
  const sumOf = async (path: string) => (await judge("sha256sum", path)).split(" ")[0];
  const models = { pi4: "Raspberry Pi 4", zero2w: "Raspberry Pi Zero 2 W" };
  const expected = Object.entries(models).map(async ([board, model]) => {
    const [image, packed] = [at("builds", board, "images/tapdeck.img"), named(board, "img.xz")];
    return [
      ...[model, `Tapdeck ${version} for ${model}`, `${url}/${packed}`],
      ...[(await readFile(image)).length, await sumOf(image)],
      ...[(await bytesOf("first", packed)).length, await sumOf(packed)],
      ...["systemd", `${url}/${named(board, "img.bmap")}`],
    ];
  });
  expect(
    said
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(await Promise.all(expected));
});

test(
  "CycloneDX's schema and its reader take the bill of materials, which has Buildroot's packages and those in the program",
  async () => {
    const python = await pythonWith("cyclonedx", join(import.meta.dir, "cyclonedx-requirements.txt"));
    const library = `
import json, os, sys, cyclonedx.schema._res as schemas
from cyclonedx.model.bom import Bom
bom = Bom.from_json(json.load(open(sys.argv[1])))
print(os.path.dirname(schemas.__file__))
for one in bom.components: print(one.purl)
`;
    const [schemas = "", ...purls] = (await judge(python, "-c", library, named("pi4", "cdx.json")))
      .trim()
      .split("\n");
    // The schemas refer to each other by the names of their files.
    const schemaOf = async (name: string) => {
      const file = `${name}.SNAPSHOT.schema.json`;
      const schema = JSON.parse(await readFile(join(schemas, file), "utf8"));
      return { ...schema, $id: `http://cyclonedx.org/schema/${file}` };
    };
    const ajv = new Ajv({ strict: false, validateFormats: false });
    for (const name of ["spdx", "jsf-0.82"]) ajv.addSchema(await schemaOf(name));
    const check = ajv.compile(await schemaOf("bom-1.6"));
    const bom = JSON.parse((await bytesOf("first", named("pi4", "cdx.json"))).toString());
    expect([check(bom), check.errors]).toEqual([true, null]);
    expect(check({ ...bom, components: [{ name: "x" }] })).toBe(false);
    const has = (name: string) => purls.filter((purl) => purl.startsWith(`pkg:${name}@`));
    expect(has("generic/busybox")).toEqual(["pkg:generic/busybox@1.37.0"]);
    for (const name of [
      "generic/tapdeck",
      "npm/valibot",
      "npm/%40oven/bun-linux-aarch64",
      "npm/%40node-usb/usb-linux-arm64-gnu",
    ])
      expect([name, has(name).length]).toEqual([name, 1]);
    for (const name of ["npm/typescript", "npm/%40biomejs/biome", "npm/%40node-usb/usb-win32-x64-msvc"])
      expect(has(name)).toEqual([]);
  },
  pythonSetUpMs,
);

const refused: readonly (readonly [string, string, (build: string) => Promise<unknown>])[] = [
  [
    "no licences of its packages",
    "legal-info",
    (build) => rm(join(build, "legal-info"), { recursive: true }),
  ],
  ["another system in its slot A", "make the image of pi4 again", (build) => spoil(build, 3 * mib + 60_000)],
  ["a system in its slot B", "has data", (build) => spoil(build, 6 * mib + 60_000)],
  ["no partitions", "has no partition table", (build) => spoil(build, 510)],
  [
    "the files of another board",
    "is of the board zero2w, not of pi4",
    async (build) => {
      await rm(build, { recursive: true });
      await cp(at("builds/zero2w"), build, { recursive: true, verbatimSymlinks: true });
    },
  ],
  [
    "another maker's keyring",
    "would refuse updates",
    async (build) => {
      await rm(build, { recursive: true });
      await makeBuild(build, "pi4", 100_000, at("others"));
    },
  ],
];

/** Changes a byte of the card's image. */
async function spoil(build: string, offset: number): Promise<void> {
  const file = await open(join(build, "images/tapdeck.img"), "r+");
  const { buffer } = await file.read(new Uint8Array(1), 0, 1, offset);
  await file.write(new Uint8Array([1 + (buffer[0] ?? 0)]), 0, 1, offset);
  await file.close();
}

test.each(refused)(
  "an image with %s is refused, and an earlier release stays",
  async (_, why, change) => {
    const build = at("spoilt/pi4");
    await cp(at("builds/pi4"), build, { recursive: true, verbatimSymlinks: true });
    await change(build);
    await mkdir(at("kept"), { recursive: true });
    await writeFile(at("kept/SHA256SUMS"), "earlier");
    await expect(release("kept", { boards: ["pi4"], builds: "spoilt" })).rejects.toThrow(why);
    expect(await readdir(at("kept"))).toEqual(["SHA256SUMS"]);
    expect((await readdir(folder)).filter((name) => name.endsWith(".new"))).toEqual([]);
    await rm(at("spoilt"), { recursive: true });
  },
  180_000,
);

test("a folder with a slash at its end lost both the new release and the earlier one", async () => {
  await mkdir(at("slash"));
  await writeFile(at("slash/SHA256SUMS"), "earlier");
  await release("slash/", { boards: ["pi4"] });
  expect(await readdir(at("slash"))).toContain(named("pi4", "img.xz"));
  expect((await bytesOf("slash/SHA256SUMS")).toString()).not.toBe("earlier");
}, 180_000);

test("a release deleted the other files of its folder", async () => {
  await mkdir(at("downloads"));
  await writeFile(at("downloads/index.html"), "<h1>Downloads</h1>");
  await expect(release("downloads", { boards: ["pi4"] })).rejects.toThrow("name a folder for it alone");
  expect(await readdir(at("downloads"))).toEqual(["index.html"]);
}, 180_000);
