/**
 * The bill of materials of an image, CycloneDX 1.6 in JSON: the packages of Buildroot from `legal-info/manifest.csv`, and those of
 * npm that the program of Tapdeck is compiled from.
 */
import { createHash } from "node:crypto";

export interface SbomInput {
  readonly board: string;
  readonly version: string;
  /** The time in seconds since 1970. */
  readonly time: number;
  /** The text of manifest.csv. */
  readonly manifest: string;
  /** The text of package-lock.json. */
  readonly lock: string;
}

interface Component {
  readonly type: "application" | "library";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly unknown[];
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly externalReferences?: readonly { readonly type: string; readonly url: string }[];
}

/** The text of the bill. Throws a sentence if the manifest is not one of Buildroot. */
export function sbomOf({ board, version, time, manifest, lock }: SbomInput): string {
  const found = [...fromBuildroot(manifest), ...fromNpm(lock)];
  // A package can occur in two folders of node_modules.
  const components = [...new Map(found.map((one) => [one.purl, one])).values()];
  components.sort((a, b) => (a.purl < b.purl ? -1 : 1));
  const name = `tapdeck-${board}`;
  const content = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(time * 1000).toISOString().replace(".000Z", "Z"),
      component: { type: "operating-system", "bom-ref": name, name, version },
    },
    components,
  };
  // The number is a UUID of version 8 (RFC 9562). The same content has the same number.
  const hex = createHash("sha256").update(JSON.stringify(content)).digest("hex");
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  return `${JSON.stringify({ ...content, serialNumber: `urn:uuid:${uuid}` }, undefined, 2)}\n`;
}

const columns = "PACKAGE,VERSION,LICENSE,LICENSE FILES,SOURCE ARCHIVE,SOURCE SITE,DEPENDENCIES WITH LICENSES";

function fromBuildroot(manifest: string): readonly Component[] {
  const [head, ...rows] = manifest.trim().split("\n").map(fieldsOf);
  if (head?.join(",") !== columns) throw new Error("manifest.csv does not have the columns of Buildroot");
  return rows.map(([name = "", version = "", license = "", , archive = "", site = ""]) => {
    const purl = `pkg:generic/${encodeURIComponent(name)}@${encodeURIComponent(version)}`;
    // Buildroot separates the licences of a package by commas, and adds remarks in words.
    const licenses = license === "" || license === "unknown" ? [] : [{ license: { name: license } }];
    const url = `${site}/${archive}`;
    const sources = /^https?:\/\/\S+$/.test(url) ? [{ type: "source-distribution", url }] : [];
    return {
      type: "library",
      "bom-ref": purl,
      name,
      version,
      ...(licenses.length === 0 ? {} : { licenses }),
      purl,
      ...(sources.length === 0 ? {} : { externalReferences: sources }),
    };
  });
}

/** The fields of a line. Each field of Buildroot's manifest is in quotes, and contains no quote. */
function fieldsOf(line: string): readonly string[] {
  return [...line.matchAll(/"([^"]*)"/g)].map(([, field = ""]) => field);
}

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly cpu?: readonly string[];
  readonly os?: readonly string[];
  readonly libc?: readonly string[];
}

/** The program contains its runtime, which npm lists as a tool. */
const runtime = "node_modules/@oven/bun-linux-aarch64";

function fromNpm(lock: string): readonly Component[] {
  const packages: Readonly<Record<string, Locked>> = JSON.parse(lock).packages;
  return Object.entries(packages).flatMap(([path, locked]) => {
    const fits = ({ cpu, os, libc }: Locked) =>
      (cpu?.includes("arm64") ?? true) &&
      (os?.includes("linux") ?? true) &&
      (libc?.includes("glibc") ?? true);
    const tool = locked.dev === true || locked.devOptional === true;
    if (path === "" || (tool && path !== runtime) || !fits(locked)) return [];
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    const { version = "", license, integrity = "" } = locked;
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    const [, base64 = ""] = /^sha512-(\S+)$/.exec(integrity) ?? [];
    return {
      type: path === runtime ? "application" : "library",
      "bom-ref": purl,
      name,
      version,
      ...(license === undefined ? {} : { licenses: [licenseOf(license)] }),
      purl,
      ...(base64 === ""
        ? {}
        : { hashes: [{ alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") }] }),
    };
  });
}

/** A licence. npm requires an expression of SPDX, or a sentence. */
function licenseOf(license: string): unknown {
  return license.startsWith("SEE ") ? { license: { name: license } } : { expression: license };
}
