/** The broker that the settings name: its address, the topics of this device, and the files of its account. */
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Config } from "../config/shape.ts";
import { fileFault } from "../core/file-faults.ts";
import { mqttFileBytesMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { type Role, roles } from "../core/rights.ts";
import { newestCertificate, renewalPathIn } from "../system/client-certificate.ts";
import { checkTlsFiles } from "../system/tls-files.ts";

export type MqttSettings = Config["mqtt"];

export interface Broker {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** The address for people, without the account: `mqtts://broker.lan:8883`. */
  readonly address: string;
  readonly user: string;
  /** Paths by the key of their setting; empty for none. */
  readonly files: Readonly<Record<FileKey, string>>;
  /** The certificate that replaces that of `files.certificate` if it ends later. */
  readonly renewalPath: string;
  readonly id: string;
  readonly role: Role;
  /** `<base>/<id>`, the beginning of the topics of this device. */
  readonly topic: string;
  readonly clientId: string;
  /** The prefix of Home Assistant's discovery; empty for none. */
  readonly discovery: string;
}

const fileKeys = ["password_file", "certificate", "key", "ca"] as const;
type FileKey = (typeof fileKeys)[number];
const tlsPort = 8883;
const plainPort = 1883;
const othersRead = 0o004;
// A topic without wildcards, spaces, empty levels, and the `$` of a broker's own topics.
const plainTopic = /^(?!\$)[^\s+#/\0]+(\/[^\s+#/\0]+)*$/;
const topicCharsMax = 128;

/** Throws an error with a sentence that names the setting with the fault. */
export function brokerOf(settings: MqttSettings, deviceName: string, dataFolder: string): Broker {
  const { protocol, host, port } = addressOf(settings.url);
  const isTls = protocol === "mqtts:";
  const { user, passwordFile, certificate, key, ca, base, discovery } = settings;
  const role = roles.find((one) => one === settings.role);
  if (role === undefined) throw wrong("role", settings.role, `one of ${roles.join(", ")}`);
  const id = settings.id === "" ? idOf(deviceName) : settings.id;
  if (!/^[\w-]{1,64}$/.test(id)) throw wrong("id", id, "at most 64 letters, digits, - and _");
  if (!isTopic(base)) throw wrong("base", base, 'a topic such as "tapdeck" or "museum/decks"');
  if (discovery !== "" && !isTopic(discovery))
    throw wrong("discovery", discovery, 'empty, or a topic such as "homeassistant"');
  if (passwordFile !== "" && user === "") throw new Error("mqtt.password_file needs mqtt.user");
  if ((certificate === "") !== (key === ""))
    throw new Error("mqtt.certificate and mqtt.key need each other: set both or none");
  if (!isTls && `${certificate}${ca}` !== "")
    throw new Error('mqtt.certificate and mqtt.ca need TLS: let mqtt.url begin with "mqtts://"');
  const path = (file: string) => (file === "" ? "" : resolve(dataFolder, file));
  const shownHost = host.includes(":") ? `[${host}]` : host;
  return {
    host,
    port,
    isTls,
    user,
    id,
    role,
    discovery,
    address: `${protocol}//${shownHost}:${port}`,
    files: {
      password_file: path(passwordFile),
      certificate: path(certificate),
      key: path(key),
      ca: path(ca),
    },
    renewalPath: renewalPathIn(dataFolder),
    topic: `${base}/${id}`,
    clientId: `${base.replaceAll("/", "-")}-${id}`,
  };
}

/**
 * The topics of the groups that a device belongs to: `<base>/@all`, and `<base>/@<site>` for a site that can be a part of a topic.
 * No id of a device begins with `@`.
 */
export function groupsOf(base: string, site: string): readonly string[] {
  const names = /^[\w.-]{1,64}$/.test(site) ? ["all", site] : ["all"];
  return [...new Set(names)].map((name) => `${base}/@${name}`);
}

function addressOf(url: string) {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const example = 'an address such as "mqtts://broker.lan:8883"';
  if (parsed === undefined || !["mqtt:", "mqtts:"].includes(parsed.protocol) || parsed.hostname === "")
    throw wrong("url", url.replace(/\/\/[^/]*@/, "//...@"), example);
  const { protocol, hostname, port, username, password, pathname, search, hash } = parsed;
  // The config file may be readable to others.
  if (`${username}${password}` !== "")
    throw new Error("mqtt.url must not hold a name and password: use mqtt.user and mqtt.password_file");
  if (!["", "/"].includes(`${pathname}${search}${hash}`))
    throw wrong("url", url, `${example}, without a path`);
  const usual = protocol === "mqtts:" ? tlsPort : plainPort;
  return { protocol, host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? usual : Number(port) };
}

/** The id that is made from the host name: `Living Room.lan` gives `living-room-lan`. */
function idOf(deviceName: string): string {
  const id = deviceName.toLowerCase().replace(/[^\w-]+/g, "-");
  return id.replace(/^-+|-+$/g, "").slice(0, 64) || "deck";
}

function isTopic(text: string): boolean {
  return text.length <= topicCharsMax && plainTopic.test(text) && text.isWellFormed();
}

function wrong(key: string, value: string, valid: string): Error {
  return new Error(`mqtt.${key} must be ${valid}, not ${JSON.stringify(value.slice(0, 60))}`);
}

export type BrokerFiles = Readonly<Partial<Record<FileKey, Buffer>>>;

/**
 * Reads the files again for each connection, so a renewed certificate is used. Rejects with a sentence. A secret that others can
 * read is logged unless `warned` has its path, which it then gets.
 */
export async function readBrokerFiles(
  { files, renewalPath }: Broker,
  log: Log,
  warned = new Set<string>(),
): Promise<BrokerFiles> {
  const read = async (key: FileKey) => {
    const path = files[key];
    if (path === "") return [];
    try {
      const { size, mode } = await stat(path);
      if (size > mqttFileBytesMax) throw new Error(`it has more than ${mqttFileBytesMax} bytes`);
      const isSecret = key === "password_file" || key === "key";
      if (isSecret && (mode & othersRead) !== 0 && !warned.has(path)) {
        log.warn("mqtt", "other users can read this secret: chmod o-r", { file: path });
        warned.add(path);
      }
      return [[key, await readFile(path)] as const];
    } catch (error) {
      throw new Error(`mqtt.${key}: cannot read ${path}: ${fileFault(error)}`);
    }
  };
  const found: BrokerFiles = Object.fromEntries((await Promise.all(fileKeys.map(read))).flat());
  const [ca, cert, key] = [found.ca, found.certificate, found.key].map((bytes) => bytes?.toString());
  checkTlsFiles({ ca, cert, key }, { ca: "mqtt.ca", cert: "mqtt.certificate", key: "mqtt.key" });
  if (cert === undefined || key === undefined) return found;
  return { ...found, certificate: Buffer.from(await newestCertificate({ cert, key }, renewalPath)) };
}
