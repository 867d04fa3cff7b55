/** The texts that commands print: readers, notifications, and the audit log. */
import type { Calls, Client, Notification } from "../client/client.ts";
import { printable } from "../core/text.ts";
import type { Reader } from "../core/token.ts";

/** Where a command writes. */
export interface Terminal {
  /** False for a file or a pipe. */
  readonly isTerminal: boolean;
  /** Writes a text to stdout. */
  write(text: string): void;
  /** Writes a line to stdout. */
  print(line: string): void;
  /** Writes a line to stderr: a hint for a person. */
  prompt(line: string): void;
}

/** Shows the newest text: on one line of a terminal, or on a line for each text in a log. */
export function createStatusLine({ isTerminal, write }: Pick<Terminal, "isTerminal" | "write">) {
  let shown = "";
  return (text: string) => {
    if (text === shown) return;
    shown = text;
    write(isTerminal ? `\r\x1b[K${text}` : `${text}\n`);
  };
}

/** The readers, then a line for each one that is not connected, with the reason. */
export function readersText({ readers, refused = [] }: Calls["readers"]["result"]): string {
  const lines = refused.map(({ why }) => `not connected: ${printable(why)}`);
  return [readersTable(readers), ...lines].join("\n");
}

/** A table with a head, or a sentence if there is no reader. */
function readersTable(readers: readonly Reader[]): string {
  if (readers.length === 0) return "No reader is connected.";
  const rows = readers.map((reader) => [
    reader.connected ? "connected" : "missing",
    reader.driver,
    printable(reader.path),
    printable(reader.info),
    reader.readerId,
  ]);
  const head = ["STATE", "DRIVER", "PATH", "READER", "ID"];
  return inColumns([head, ...rows]).join("\n");
}

/** A line for each row, with aligned cells. */
export function inColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows.reduce<readonly number[]>(
    (widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, Bun.stringWidth(cell))),
    [],
  );
  const padded = (cell: string, column: number) =>
    cell + " ".repeat((widths[column] ?? 0) - Bun.stringWidth(cell));
  return rows.map((row) => row.map(padded).join("  ").trimEnd());
}

/** One line, such as `12:34:56  tokens.added     NTAG 04a1b2c3d4e5f6 "Audio/Doorbell.wav"`. */
export function notificationLine(notification: Notification, at: Date): string {
  return `${at.toTimeString().slice(0, 8)}  ${notification.method.padEnd(15)} ${printable(detail(notification))}`;
}

function detail({ method, params }: Notification): string {
  switch (method) {
    case "readers.added":
    case "readers.removed":
      return `${params.driver}:${params.path} ${params.info}`;
    case "tokens.added":
    case "tokens.removed":
      return [params.type, params.uid, JSON.stringify(params.text)].filter((part) => part !== "").join(" ");
    case "tokens.written":
      return params.uid;
    case "running":
      return JSON.stringify(params.script);
    case "media.started":
    case "media.paused":
    case "media.resumed":
      return `${params.mediaName} (${params.systemName}, ${params.launcherId})`;
    case "media.stopped":
      return endOf(params);
    case "media.indexing":
      return params.indexing ? (params.currentStepDisplay ?? "") : `${params.totalMedia ?? 0} files`;
    case "media.uploading":
      return `${params.system}/${params.path} ${params.state} at ${params.offset} of ${params.size} bytes`;
    case "playlist.opened":
      return `${params.name}: choose one of ${params.count}`;
    case "launch.guarded":
      return `${params.playing} plays: put the card on once more to switch`;
    case "device.updating":
      return [params.step, params.percent === undefined ? "" : `${params.percent} %`, params.why ?? ""]
        .filter((part) => part !== "")
        .join(" ");
    case "playtime.warning":
      return params.minutesLeft === 0
        ? `the play time of this ${params.limit} is used up`
        : `${params.minutesLeft} minutes of this ${params.limit} are left`;
    case "playtime.limit.warning":
      return `${params.remaining} are left`;
    case "playtime.limit.reached":
      return `the limit is reached: ${params.reason}`;
    case "clients.paired":
      return params.clientName;
    case "launch.finished":
      return params.success
        ? `${JSON.stringify(params.text)}${params.note === undefined ? "" : `: ${params.note}`}`
        : `${JSON.stringify(params.text)} failed: ${params.error ?? ""}`;
  }
}

/** The exit code is shown for a failure only, because players end with a code of their own when they are asked to end. */
function endOf({ mediaName, reason = "stopped", elapsed, exitCode, why }: Stopped): string {
  const how = reason === "failed" && exitCode !== null ? `, exit code ${exitCode}` : "";
  return `${mediaName} ${reason} after ${elapsed} s${how}${why === undefined ? "" : `: ${why}`}`;
}

type Stopped = Extract<Notification, { readonly method: "media.stopped" }>["params"];

type Entry = Calls["audit"]["result"]["entries"][number];

/** `tapdeck audit`: the newest entry last; with `json`, one JSON object for each line. */
export async function auditText(client: Client, limit: number, json: boolean): Promise<string> {
  const entries = (await client.call("audit", { limit })).entries.toReversed();
  if (json) return entries.map((entry) => JSON.stringify(entry)).join("\n");
  if (entries.length === 0) return "The audit log has no entries yet.";
  return entries.map(auditLine).join("\n");
}

const whys: Readonly<Record<NonNullable<Entry["why"]>, string>> = {
  "host-or-origin": "a foreign name or page",
  "too-many-requests": "too many requests",
  "too-many-connections": "too many connections",
  "encryption-required": "not encrypted",
  "secure-failure": "a wrong secret, or none of ours",
  "too-many-failures": "too many failed handshakes",
  "wrong-pin": "a wrong PIN",
  "wrong-code": "a wrong code",
  "wrong-token": "a wrong bearer token",
  "launch-not-allowed": "a launch that allow_launch does not allow",
  "forbidden-method": "a method without the right for it",
};

/** Names come from outside, so they are quoted and cannot control the terminal. */
function auditLine({ time, event, client, name, by, why, address, method, object, count }: Entry): string {
  const parts = [
    time.replace(/\.\d+Z$/, "Z"),
    event.padEnd(14),
    name === undefined ? "" : JSON.stringify(name),
    why === undefined ? "" : whys[why],
    method ?? "",
    object === undefined || object === "" ? "" : JSON.stringify(object),
    by === undefined ? "" : `by ${by}`,
    address === undefined ? "" : `from ${address}`,
    client === undefined ? "" : `client ${client}`,
    count === undefined ? "" : count === 1 ? "once" : `${count} times`,
  ];
  return printable(parts.filter((part) => part !== "").join("  "));
}
