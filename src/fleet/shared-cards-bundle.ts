/**
 * The file of shared cards, UTF-8:
 *
 *   line 1  `tapdeck-cards-1`, a space, and the Ed25519 signature (RFC 8032) of all that follows line 1, in hex. The signed
 *           bytes begin with `tapdeck-cards-1\n`, so that a signature for another purpose is not valid here.
 *   rest    JSON: `serial`, a number that grows with each bundle, and `files`, an object of names and texts: `mappings/*.toml`,
 *           `launchers.toml` and `limits.toml`
 *
 * Nothing is used before the signature is checked, and a bundle with a fault in one file is refused as a whole.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Table } from "../config/checks.ts";
import { readMappingsToml } from "../config/mapping-file.ts";
import { breather } from "../config/mapping-files.ts";
import { isSettingsFile, readSharedSettings, type SettingsFile } from "../config/shared-settings.ts";
import { systemClock } from "../core/clock.ts";
import { codeOf, messageOf } from "../core/errors.ts";
import {
  cardsBundleBytesMax,
  cardsNameCharsMax,
  mappingFileBytesMax,
  mappingFilesMax,
} from "../core/limits.ts";
import { isRecord } from "../core/text.ts";
import type { MappingParams } from "../core/token.ts";
import { checkMapping, tooManyInFiles } from "../mappings/check-mapping.ts";
import { createRegexes } from "../mappings/regex.ts";

const purpose = "tapdeck-cards-1";
const mappingName = /^mappings\/([^./\0][^/\0]*\.toml)$/;

/** A bundle whose signature and form are right. Its files are not checked yet. */
export interface CardsBundle {
  readonly serial: number;
  /** Texts by name. */
  readonly files: Readonly<Record<string, string>>;
}

export interface SharedFile {
  /** The name of the file without its folder. */
  readonly name: string;
  readonly source: string;
}

/** Throws an error with a sentence if another key has signed the bundle, or if the bytes are no bundle. */
export function openBundle(text: string, publicHex: string): CardsBundle {
  const end = text.indexOf("\n");
  const [, signature] = /^tapdeck-cards-1 ([0-9a-f]{128})$/.exec(text.slice(0, end)) ?? [];
  if (end < 0 || signature === undefined) throw new Error("it is no bundle of shared cards");
  const body = text.slice(end + 1);
  if (!verify(null, signedBytes(body), publicKeyOf(publicHex), Buffer.from(signature, "hex")))
    throw new Error("its signature is not by the key of cards.key");
  const value: unknown = JSON.parse(body);
  if (!isRecord(value) || !isRecord(value.files)) throw new Error("it has no files");
  const { serial } = value;
  if (typeof serial !== "number" || !Number.isSafeInteger(serial) || serial < 1)
    throw new Error("it has no serial number");
  const files: Record<string, string> = {};
  for (const [name, source] of Object.entries(value.files)) {
    if (typeof source !== "string") throw new Error(`${shown(name)} is no text`);
    if (!isSettingsFile(name) && !mappingName.test(name))
      throw new Error(`${shown(name)} has no place in it`);
    if (name.length > cardsNameCharsMax)
      throw new Error(`the name ${shown(name)} has more than ${cardsNameCharsMax} characters`);
    files[name] = source;
  }
  return { serial, files };
}

/** The mapping files, by name. */
export function mappingFilesIn({ files }: CardsBundle): readonly SharedFile[] {
  return Object.entries(files).flatMap(([path, source]) => {
    const [, name] = mappingName.exec(path) ?? [];
    return name === undefined ? [] : [{ name, source }];
  });
}

/** Launchers and limits, in the form of a config file. Throws an error with the file and the line of a fault. */
export function settingsIn({ files }: CardsBundle): Table {
  const stated = Object.entries(files).flatMap(([name, source]) =>
    isSettingsFile(name) ? [readSharedSettings(name satisfies SettingsFile, source)] : [],
  );
  return Object.assign({}, ...stated);
}

/** Reads every file as a device does, with its limits. Rejects with the file and the line of the first fault. */
export async function checkBundle(bundle: CardsBundle): Promise<void> {
  settingsIn(bundle);
  const all = mappingFilesIn(bundle);
  if (all.length > mappingFilesMax) throw new Error(`it has more than ${mappingFilesMax} files of mappings`);
  const regexes = createRegexes();
  const breathe = breather(systemClock);
  const mappings: MappingParams[] = [];
  for (const { name, source } of all) {
    if (Buffer.byteLength(source) > mappingFileBytesMax)
      throw new Error(`mappings/${name} is larger than ${mappingFileBytesMax} bytes: divide it into several`);
    const read = await readMappingsToml(source, (one) => checkMapping(one, regexes), breathe).catch(
      (fault: unknown) => ({ mappings: [], faults: [fault] }),
    );
    const [fault] = read.faults;
    if (fault !== undefined) throw new Error(`mappings/${name}${lineIn(fault)}: ${messageOf(fault)}`);
    mappings.push(...read.mappings.map(({ params }) => params));
    const why = tooManyInFiles(mappings);
    if (why !== undefined) throw new Error(`mappings/${name}: ${why}`);
  }
}

function lineIn(fault: unknown): string {
  return fault instanceof Error && "line" in fault && typeof fault.line === "number"
    ? `, line ${fault.line}`
    : "";
}

/** Makes a pair of keys: the secret one in a file that must not exist yet (PKCS #8, PEM). Returns the public one. */
export async function makeCardsKey(path: string): Promise<string> {
  const { privateKey } = generateKeyPairSync("ed25519");
  await writeFile(path, privateKey.export({ type: "pkcs8", format: "pem" }), { flag: "wx", mode: 0o600 });
  return publicHexOf(privateKey);
}

/** Reads and checks the files of a folder, and signs them. Rejects with a sentence. */
export async function makeBundle(folder: string, keyPath: string, serial: number) {
  const key = await secretKeyIn(keyPath);
  const files: Record<string, string> = {};
  const inMappings = await readdir(join(folder, "mappings")).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  const names = [...inMappings.map((name) => `mappings/${name}`), ...(await readdir(folder))];
  for (const name of names.toSorted())
    if (name.endsWith(".toml") && (await stat(join(folder, name))).isFile())
      files[name] = await textIn(join(folder, name));
  if (Object.keys(files).length === 0)
    throw new Error(`${folder} has neither mappings/*.toml, launchers.toml nor limits.toml`);
  const body = `${JSON.stringify({ serial, files } satisfies CardsBundle)}\n`;
  const text = `${purpose} ${sign(null, signedBytes(body), key).toString("hex")}\n${body}`;
  if (Buffer.byteLength(text) > cardsBundleBytesMax)
    throw new Error(`the bundle would have more than ${cardsBundleBytesMax} bytes`);
  const bundle = openBundle(text, publicHexOf(key));
  await checkBundle(bundle);
  return { text, files: Object.keys(files), publicHex: publicHexOf(key) };
}

async function textIn(path: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (error) {
    throw error instanceof TypeError ? new Error(`${path} is not UTF-8 text`, { cause: error }) : error;
  }
}

async function secretKeyIn(path: string): Promise<KeyObject> {
  const text = await readFile(path, "utf8");
  try {
    const key = createPrivateKey(text);
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch (error) {
    throw new Error(`${path} holds no secret key: tapdeck cards key makes one`, { cause: error });
  }
  throw new Error(`${path} holds another kind of key than Ed25519: tapdeck cards key makes one`);
}

function publicHexOf(secret: KeyObject): string {
  const { x = "" } = createPublicKey(secret).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("hex");
}

function publicKeyOf(hex: string): KeyObject {
  const x = Buffer.from(hex, "hex").toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

function signedBytes(body: string): Buffer {
  return Buffer.from(`${purpose}\n${body}`);
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, cardsNameCharsMax));
}
