/** `tapdeck audit`: pairings, revocations, refusals, remote launches and remote changes. */
import type { Client } from "../client/client.ts";
import { printable } from "../core/printable.ts";

type Entry = Awaited<ReturnType<typeof readAudit>>[number];

async function readAudit(client: Client, limit: number) {
  return (await client.call("audit", { limit })).entries;
}

/** The newest last, as in any log at a terminal; with `json`, an entry a line. */
export async function auditText(client: Client, limit: number, json: boolean): Promise<string> {
  const entries = (await readAudit(client, limit)).toReversed();
  if (json) return entries.map((entry) => JSON.stringify(entry)).join("\n");
  if (entries.length === 0) return "Nobody was let in or turned away yet.";
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

/** Names come from outside: they are quoted, so that none can steer a terminal. */
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
    count === undefined ? "" : `${count} times`,
  ];
  return printable(parts.filter((part) => part !== "").join("  "));
}
