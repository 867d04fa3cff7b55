/**
 * The faults that `health` reports, and the reasons of failed launches. A fault is made where it is known, and travels as its code
 * and facts. A sentence is made from a table where a person reads it; this table is English. Codes and names of facts are
 * stable, and sentences may change in any version.
 */
import type { RefusalTexts } from "./refusals.ts";
import { filled } from "./text.ts";

/**
 * By origin. `system`: the software or the board. `owner`: media, programs, settings and cards. `others`: brokers, servers and
 * networks. Only a fault of the system may end the trial of an update. A word in braces is a fact of the fault.
 */
export const faultTable = {
  system: {
    "reader-failed": "{subject}: {why}",
    "database-failed": "{why}",
    "disk-full": "only {kib} KiB are free for the data folder",
    "saves-not-kept": "saves cannot be kept in {subject}: {why}",
    "saves-memory-full": "the memory for saves, {subject}, is full: end the game, and start it again",
    "players-unconfined": "players are not confined and could read this service's secrets: {why}",
    "data-damaged":
      "the data partition is damaged: it can be read, but what changes is lost at the next start; copy what you need and flash the card again",
    "data-lost":
      "the data partition cannot be read: everything is lost at the next start; flash the card again, or try another one",
    "boot-unreadable": "the boot partition cannot be read, so tapdeck.conf does not count",
    "update-not-kept":
      "the update to {subject} was not kept: it did not start, or was not healthy for a minute; the version before it runs again",
    "service-restarted": "the watchdog started the service again: {why}",
    "service-silent": "the watchdog got no answer: {why}",
    "machine-resetting": "the watchdog is about to reset this machine: {why}",
    "machine-reset": "the watchdog reset this machine: {why}",
    "machine-reset-again": "the watchdog reset this machine, {times} times in a row: {why}",
    "machine-unguarded": "nothing resets this machine should it hang: {why}",
    "check-failed": "{why}",
  },
  owner: {
    "reader-unknown": "{why}",
    "reader-silent": "no reader answers at {subject}, and no other one is connected: {why}",
    "reader-port-taken":
      "the Bluetooth radio of this device uses {subject}, so no reader can be there: connect it to /dev/ttyAMA0, or set dtoverlay=disable-bt in config.txt",
    "settings-invalid": "{why}",
    "override-invalid": "in the environment or tapdeck.conf, {why}",
    "conf-invalid": "in tapdeck.conf on the boot partition, {why}",
    "imager-invalid": "in the settings by Raspberry Pi Imager (firstrun.sh), {why}",
    "conf-file-missing":
      "{key} in tapdeck.conf names {subject}, and there is no such file on the boot partition",
    "conf-reader-refused": "the reader {subject} of tapdeck.conf was refused",
    "cards-key-missing": "cards.key is not set, so no bundle can be checked",
    "media-missing":
      "no media are at {subject}: the folder is missing or empty, or its drive is not plugged in",
    "media-silent": "no media are at {subject}: it did not answer within {seconds} s",
    "program-missing": "there is no program {subject}, which the launcher {launcher} needs for {systems}",
    "mqtt-invalid": "{why}",
    "certificate-ends": "the certificate of {subject} ends soon (days left: {days}): renew it",
    "certificate-ended": "the certificate of {subject} has ended: renew it",
  },
  others: {
    "radio-silent": "the Bluetooth radio of this device does not answer: unplug the device for ten seconds",
    "share-failed": "the share for PCs is off, because its server does not run: set its password again",
    "cards-refused": "the shared cards of the server are not used: {why}",
    "broker-absent":
      "no broker answers at {subject} port {port}: check mqtt.url, and whether the broker runs",
    "broker-unknown":
      "no broker answers, because the name {subject} is not known: check mqtt.url and the network",
    "broker-unreachable": "no connection to the broker: {why}",
    "broker-lost": "the connection to the broker ended",
    "broker-silent":
      "the broker closed the connection without an answer: if its port is one with TLS, let mqtt.url begin with mqtts://",
    "broker-silent-tls":
      "the broker closed the connection without an answer: check mqtt.certificate and mqtt.key, and whether the port is that for TLS",
    "broker-not-mqtt":
      "the answer at {subject} port {port} is no MQTT: check the port of mqtt.url; for one with TLS, let it begin with mqtts://",
    "broker-handshake":
      "the broker ended the TLS handshake ({why}): check mqtt.certificate, mqtt.key and the port",
    "broker-certificate-host":
      "the certificate of the broker is for another host than {subject}: check mqtt.url",
    "broker-certificate-time":
      "the certificate of the broker is not valid now: check the clock of this device, or renew the certificate",
    "broker-certificate-ends":
      "the certificate of the broker {subject} ends soon (days left: {days}): renew it there",
    "broker-certificate-untrusted":
      "the certificate of the broker is not trusted ({why}): let mqtt.ca name the authority that signed it",
    "broker-version": "the broker does not know MQTT 5: it needs at least mosquitto 1.6",
    "broker-password": "the broker refuses the name or password: check mqtt.user and mqtt.password_file",
    "broker-refuses":
      "the broker refuses this device: check mqtt.user, mqtt.password_file and its access list",
    "broker-refuses-name": "the broker refuses the name of this device: set another mqtt.id",
    "broker-refuses-topic":
      "the broker refuses {topic}: allow this device to write there in the access list of the broker, or let mqtt.id be its name in that list",
    "broker-refuses-subscription": "the broker refuses the subscription to {topic}: {why}",
    "broker-busy": "the broker is busy",
    "broker-ban": "the broker has banned this device",
    "broker-stopping": "the broker is shutting down",
    "broker-same-name":
      "the broker ended the connection, because another device has the same name: give each its own mqtt.id",
    "broker-ended": "the broker ended the connection (reason {reason})",
  },
} as const;

type Table = typeof faultTable;
type FaultOrigin = keyof Table;
type Sentences = Table["system"] & Table["owner"] & Table["others"];
export type FaultCode = keyof Sentences;

/** A sentence for each code, in one language. */
export type FaultTexts = Readonly<Record<FaultCode, string>>;

export const englishFaults: FaultTexts = { ...faultTable.system, ...faultTable.owner, ...faultTable.others };

export const faultOrigins = ["system", "owner", "others"] as const satisfies readonly FaultOrigin[];
export const faultCodes: readonly FaultCode[] = Object.keys(englishFaults).filter(isFaultCode);

/** Further facts are texts, such as `why`. */
export type Fault = Readonly<Record<string, string>> & {
  readonly code: FaultCode;
  readonly of: FaultOrigin;
  /** The path, reader, program or host that the fault is about. The subject stays the same over restarts. */
  readonly subject?: string;
};

type FactIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | FactIn<Rest> : never;
type Facts<Code extends FaultCode> = Readonly<Record<FactIn<Sentences[Code]>, string>> & {
  readonly subject?: string;
};

/** A fault with the facts of its sentence, and a subject if it has one. */
export function faultOf<Code extends FaultCode>(code: Code, facts: Facts<Code>): Fault {
  return { code, of: originOf(code), ...facts };
}

/** A fault that another program has written; an unknown code is a fault itself. */
export function knownFault(code: string, facts: Readonly<Record<string, string>>): Fault {
  return isFaultCode(code)
    ? { ...facts, code, of: originOf(code) }
    : faultOf("check-failed", { subject: code, why: `${code} is no known fault` });
}

function isFaultCode(word: string): word is FaultCode {
  return Object.hasOwn(englishFaults, word);
}

function originOf(code: FaultCode): FaultOrigin {
  return faultOrigins.find((origin) => code in faultTable[origin]) ?? "system";
}

/** The fault as a sentence of these texts. */
export function faultSentence(fault: Fault, texts: FaultTexts = englishFaults): string {
  return filled(texts[fault.code], fault);
}

/** Several faults in one line; empty for none. */
export function faultLine(faults: readonly Fault[]): string {
  return faults.map((fault) => faultSentence(fault)).join("; ");
}

/** Each reason of a failed launch, with its meaning. The sentence comes from the code that knows the details. */
export const launchReasons = {
  blank: "the tag has no message, and no mapping",
  unformatted: "the tag is not formatted for NFC messages, and has no mapping",
  "half-written": "the message on the tag is cut short, and it has no mapping",
  "other-message": "the message on the tag is neither a text nor a link, and it has no mapping",
  locked: "the memory of the tag is locked, and it has no mapping",
  unreadable: "the memory of the tag could not be read, and it has no mapping",
  "no-text": "the token has no text and no mapping",
  "pairing-card": "the card lets a phone in, and starts nothing",
  "script-invalid": "the script cannot be run as it is written",
  "media-not-found": "there is no such file, or nothing in the index fits",
  "stick-away": "the file is on a USB stick that is not plugged in; `subject` is its name",
  "index-missing": "there is no media index, or nothing is in it",
  "system-unknown": "there is no such system",
  "outside-media": "the path is not below a media folder, or is an address",
  "own-folder": "the file is in a folder of Tapdeck or of the kernel",
  uploading: "the file is being uploaded",
  "playlist-invalid": "the playlist names nothing to play, or is none",
  "playlist-over": "nothing more of the playlist can be played",
  "launcher-missing": "no launcher plays the file",
  "core-missing": "the libretro core is not installed",
  "bios-missing": "a BIOS file of the game is missing",
  "player-not-started": "the program of the player cannot be started",
  "player-failed": "the player ended with a fault soon after its start",
  "player-not-ready": "the player did not show its media in time",
  "nothing-plays": "the script needs a player that runs",
  "play-time-over": "play time is over",
  "hook-refused": "the hook before_start failed",
  "held-back": "the launch guard waits for the same card again",
  stopped: "it was stopped",
  "taken-over": "another card or item took over",
  revoked: "its caller was revoked, or has lost its right",
  forbidden: "its source may not do that",
  failed: "another refusal; the sentence has the details",
  "not-found": "the thing that the script names is not there",
  busy: "too much is asked for at once, or the service is stopping",
  "invalid-params": "a value of the script is out of its range",
  conflict: "another action excludes it now",
  "no-reader": "there is no reader for it",
  "reader-gone": "the reader failed or was unplugged",
  "write-failed": "the tag was not written",
  "internal-error": "a fault of the service, which its log explains",
  interrupted: "the service ended before the script did",
} as const;
export type LaunchReason = keyof typeof launchReasons;

export const launchReasonCodes: readonly LaunchReason[] = Object.keys(launchReasons).filter(isLaunchReason);

const onPurpose: readonly LaunchReason[] = ["stopped", "taken-over"];

/** Whether a launch ended because a person wanted that, which is no failure. */
export function isOnPurpose(reason: LaunchReason | undefined): boolean {
  return reason !== undefined && onPurpose.includes(reason);
}

export function isLaunchReason(word: string): word is LaunchReason {
  return Object.hasOwn(launchReasons, word);
}

/** The reasons that name a fault of a card, and one more that the page shortens. */
type CardReason = Extract<
  LaunchReason,
  | "blank"
  | "unformatted"
  | "half-written"
  | "other-message"
  | "locked"
  | "unreadable"
  | "no-text"
  | "pairing-card"
  | "taken-over"
>;

/** The texts of faults, of failed launches and of refusals in a language, by their codes; each is a file of `languages`. */
export interface FaultedTexts {
  readonly reasons: Readonly<Record<CardReason, string>>;
  /** The other reasons of failed launches. */
  readonly launches: Readonly<Record<Exclude<LaunchReason, CardReason>, string>>;
  /** The refusals of requests. */
  readonly refusals: RefusalTexts;
  readonly faults: FaultTexts;
}
