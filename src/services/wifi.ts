/**
 * The Wi-Fi of the image. The service may not connect: root's scripts do (`overlay/usr/lib/tapdeck/wifi`), asked by the pipe of
 * `machine`, and report in the folder that TAPDECK_MACHINE names:
 *
 *   wifi            lines of `key=value`: state, network and fault; of an access point also name, password and address, and
 *                   `opening` until it is open
 *   wifi-networks   the networks in reach, as `wpa_cli scan_results` prints them
 *   wifi-known      the names of the networks that were set up here, as hex digits, the best first
 *
 * No password of a network is ever read back. While the access point is open, its page is served at its address.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { watchFolder } from "../config/watch-files.ts";
import { wifiNetworksMax, wifiReportBytesMax } from "../core/console-limits.ts";
import { coded, failed, messageOf, ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import {
  isWifiPassword,
  type WifiNetwork,
  type WifiReport,
  type WifiRequest,
  type WifiState,
  wifiState,
} from "../core/wifi-shapes.ts";
import { ask } from "../system/update-engine.ts";
import { servePointPage } from "./wifi-point.ts";

interface WifiParts {
  /** The folder of the reports; empty if this is not the image. */
  readonly folder: string;
  /** The descriptor of the pipe. */
  readonly pipe: number;
  readonly log: Log;
  readonly onChanged: () => void;
  /** The port of the page of the access point. */
  readonly pagePort?: number;
  /** The interface in sysfs. */
  readonly link?: string;
}

export type Wifi = ReturnType<typeof followWifi>;

const ownLink = "/sys/class/net/wlan0"; // The interface that the scripts use.
const httpPort = 80; // The port at which phones look for the page of an access point.

/** Follows the reports until closed. A machine that is not the image has no Wi-Fi that the service controls. */
export function followWifi({ folder, pipe, log, onChanged, pagePort = httpPort, link = ownLink }: WifiParts) {
  let seen = readReports(folder);
  let page: ReturnType<typeof servePointPage> | undefined;
  const order = async (...words: readonly string[]) => {
    if (folder === "")
      throw coded(
        "wifi-elsewhere",
        failed("only Tapdeck's own image sets up Wi-Fi: use the settings of this system"),
      );
    await ask(pipe, ["wifi", ...words].join(" "));
  };
  const join = async ({ id, password }: WifiRequest) => {
    if (password !== "" && !isWifiPassword(password))
      throw coded(
        "wifi-password",
        failed(
          "a Wi-Fi password has 8 to 63 characters, or is a key of 64 hex digits; an open network has none",
        ),
      );
    await order("join", id, password === "" ? "-" : Buffer.from(password).toString("hex"));
  };
  const scan = () => order("scan");
  const change = async (word: string, { id }: { readonly id: string }) => {
    if (folder !== "" && !seen.known.some((one) => one.id === id))
      throw new ServiceError("not-found", "no such network was set up here: `wifi` has the known ones");
    await order(word, id);
  };
  /** The script reports its last act. After that the connection comes and goes by itself. */
  const now = (): WifiReport => {
    const { isOpening, ...report } = seen;
    // While the access point is open, the interface is up without a connection to a network.
    if (isOpening || (report.state !== "joined" && report.state !== "away")) return report;
    const isUp = isLinkUp(link);
    if (isUp === undefined || isUp === (report.state === "joined")) return report;
    const { fault: _, ...rest } = report;
    return { ...rest, state: isUp ? "joined" : "away" };
  };
  const closePage = () => {
    page?.close();
    page = undefined;
  };
  const showPage = () => {
    const address = seen.point?.address;
    if (page?.address === address) return;
    closePage();
    if (address === undefined) return;
    try {
      page = servePointPage({ address, port: pagePort, report: () => seen, join, scan, log });
    } catch (error) {
      log.warn("wifi", "the page of the access point cannot be served", { address, error: messageOf(error) });
    }
  };
  const look = () => {
    const now = readReports(folder);
    if (Bun.deepEquals(now, seen)) return;
    seen = now;
    if (isStarting) return;
    showPage();
    onChanged();
  };
  // The watch reads the files once at its beginning, when the other parts do not exist yet.
  let isStarting = true;
  const watching = folder === "" ? undefined : watchFolder(folder, look);
  isStarting = false;
  showPage();
  return {
    report: now,
    /** The page of the access point; undefined while the access point is closed. */
    page: () => page,
    state(): WifiState {
      const { networks: _, known: __, ...state } = now();
      return state;
    },
    join,
    scan,
    open: () => order("open"),
    forget: (network: { readonly id: string }) => change("forget", network),
    prefer: (network: { readonly id: string }) => change("prefer", network),
    close() {
      watching?.[Symbol.dispose]();
      closePage();
    },
  };
}

/** Whether the interface is connected (Documentation/networking/operstates.rst); undefined without one. */
function isLinkUp(link: string): boolean | undefined {
  try {
    return readFileSync(join(link, "operstate"), "utf8").trim() === "up";
  } catch {
    return undefined; // The adapter was pulled out.
  }
}

function readReports(folder: string): WifiReport & { readonly isOpening: boolean } {
  const text = (name: string) => {
    const path = join(folder, name);
    if (folder === "" || !existsSync(path)) return "";
    try {
      return readFileSync(path, "latin1").slice(0, wifiReportBytesMax);
    } catch {
      return ""; // The script replaces the file at this moment. The watch reports the new one.
    }
  };
  const state = text("wifi");
  return {
    ...wifiStateIn(state),
    isOpening: /^opening=/m.test(state),
    networks: networksIn(text("wifi-networks")),
    known: text("wifi-known")
      .split("\n")
      .filter((id) => id !== "")
      .map((id) => ({ id, name: nameOf(id) })),
  };
}

/** The state in the lines of the script; `none` without them. */
export function wifiStateIn(text: string): WifiState {
  const facts = new Map(text.split("\n").map((line) => splitAt(line, "=")));
  const { name, password, address, network, state, fault } = Object.fromEntries(facts);
  const read = v.safeParse(wifiState, {
    state,
    ...(network === undefined ? {} : { network: nameOf(network) }),
    ...(fault === undefined ? {} : { fault }),
    ...(state === "point" ? { point: { name, password, address } } : {}),
  });
  return read.success ? read.output : { state: "none" };
}

/**
 * The networks in the output of `wpa_cli scan_results`: a heading, then a line for each radio with its address,
 * frequency, signal level, flags and name, separated by tabs. Names have escapes (`printf_encode` of wpa_supplicant).
 * Hidden networks have no name.
 */
export function networksIn(text: string): readonly WifiNetwork[] {
  const strongest = new Map<string, WifiNetwork>();
  for (const line of text.split("\n")) {
    const [address = "", , level = "", flags = "", escaped = ""] = line.split("\t");
    const id = unescaped(escaped).toString("hex");
    if (!/^[0-9a-f]{2}(:|$)/.test(address) || /^(00)*$/.test(id) || id.length > 64) continue;
    const signal = Math.trunc(Number(level)) || 0;
    const found = { id, name: nameOf(id), signal, security: securityOf(flags) };
    if ((strongest.get(id)?.signal ?? Number.NEGATIVE_INFINITY) < signal) strongest.set(id, found);
  }
  return [...strongest.values()].toSorted((a, b) => b.signal - a.signal).slice(0, wifiNetworksMax);
}

/** The security of a network by flags such as `[WPA2-PSK-CCMP][ESS]`. */
function securityOf(flags: string): WifiNetwork["security"] {
  if (/PSK|SAE/.test(flags)) return "password";
  return /WEP|EAP|OWE|RSN|WPA/.test(flags) ? "other" : "open";
}

function unescaped(text: string): Buffer {
  const plain: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", e: "\x1b" };
  const decoded = text.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_all, hex?: string, letter = "") =>
    hex === undefined ? (plain[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, "latin1");
}

function nameOf(id: string): string {
  return Buffer.from(id, "hex").toString("utf8");
}

function splitAt(line: string, separator: string): [string, string] {
  const at = line.indexOf(separator);
  return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
}
