/** `tapdeck pair`: pairs phones and programs, lists them, changes their roles, and revokes them. */
import { encode } from "uqr";
import { bearerOf, type Calls, type Client } from "../client/client.ts";
import { exitCodes, exitFailure, StartError } from "../core/errors.ts";
import { pairingLink } from "../core/pairing-link.ts";
import { ago, printable } from "../core/text.ts";
import type { CommandLine } from "./arguments.ts";
import { inColumns, type Terminal } from "./show.ts";
import { onInterrupt, writeTags } from "./write-tags.ts";

/** Pairs, lists, changes or revokes, as the options ask. Throws `StartError`, and `RpcError` if the service refuses. */
export async function pairPhone(client: Client, asked: CommandLine, screen: Terminal): Promise<void> {
  const { card, code, pin, list, revoke, change, bearer } = asked.pair;
  if (list) return await listClients(client, asked.json, screen);
  if (revoke !== undefined) return await revokeClient(client, revoke, asked, screen);
  if (change !== undefined) return await changeRole(client, change, asked, screen);
  if (bearer !== undefined) return await makeBearer(client, bearer, asked, screen);
  if (code) return await pairByCode(client, asked, screen);
  if (pin) return await pairByPin(client, asked, screen);
  return card ? await pairByCard(client, asked, screen) : await pairByLink(client, asked, screen);
}

async function pairByLink(client: Client, asked: CommandLine, screen: Terminal): Promise<void> {
  const { link, facts, id } = await newLink(client, asked);
  const { hosts, fingerprint } = facts;
  if (asked.json) return screen.print(JSON.stringify({ id, link, hosts, fingerprint }));
  if (screen.isTerminal) screen.print(`${qrText(link)}\nPoint the phone's camera at it, or open there:`);
  screen.print(link);
  if (screen.isTerminal) {
    const [, ...others] = facts.hosts;
    if (asked.pair.host === undefined && others.length > 0)
      screen.print(`\nIf the phone does not find it, try --host with ${others.join(" or ")}.`);
    screen.print(
      "Anybody with the link can use this device: tapdeck pair --list and --revoke shut it out again. It expires if nobody opens it within ten minutes.",
    );
    if (facts.fingerprint !== undefined) screen.print(`Certificate (SHA-256): ${facts.fingerprint}`);
  }
}

/** Deletes the new client again if the card was not written. */
async function pairByCard(client: Client, asked: CommandLine, screen: Terminal): Promise<void> {
  const { link, id } = await newLink(client, asked);
  try {
    await writeTags(client, {
      text: link,
      record: "uri",
      list: undefined,
      readerId: asked.reader,
      force: asked.force,
      print: () =>
        screen.print(
          asked.json
            ? JSON.stringify({ id, written: true })
            : "written: tap a phone on it within ten minutes, else the link expires. Anybody with the card can use this device.",
        ),
      prompt: screen.prompt,
    });
  } catch (error) {
    await client.call("clients.delete", { id });
    throw error;
  }
}

async function newLink(client: Client, { words, pair }: CommandLine) {
  const facts = await client.call("pairing");
  const host = pair.host ?? facts.hosts[0];
  if (host === undefined)
    throw exitFailure(
      "the service is not reached from the network: see api.listen in the settings, or name its address with --host",
    );
  const made = await client.call("clients.new", { name: words[0] ?? "", role: pair.role, link: true });
  const link = pairingLink(`http://${urlHost(host)}:${facts.port}`, made);
  if (link === undefined)
    throw new StartError(exitCodes.internal, "the service made a client of another kind");
  return { link, facts, id: made.id };
}

/** Makes a bearer token for a program that speaks HTTPS. The token is bound to the certificate. */
async function makeBearer(
  client: Client,
  name: string,
  { pair, json }: CommandLine,
  { isTerminal, print }: Terminal,
): Promise<void> {
  const { fingerprint } = await client.call("pairing");
  if (fingerprint === undefined)
    throw exitFailure(
      "a bearer token goes over TLS, and TLS is off: set api.tls_port in the settings to 7498",
    );
  const made = await client.call("clients.new", { name, role: pair.role });
  const bearer = bearerOf(made, fingerprint);
  if (json) return print(JSON.stringify({ id: made.id, bearer, fingerprint }));
  print(bearer);
  if (isTerminal) {
    print("Send it over https as: Authorization: Bearer <the line above>. It is not shown again.");
    print(`It belongs to this certificate (SHA-256): ${fingerprint}`);
  }
}

/** An IPv6 address has brackets in a URL. */
function urlHost(host: string): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}

async function pairByCode(client: Client, { pair, json }: CommandLine, screen: Terminal): Promise<void> {
  const { code, expires } = await client.call("pairing.open", {
    role: pair.role,
    ...(pair.host === undefined ? {} : { host: pair.host }),
  });
  using interruption = onInterrupt(() => {
    // The pairing may have ended already; then there is nothing to cancel.
    client.call("pairing.cancel").catch(() => {});
  });
  const { hosts, port } = await client.call("pairing");
  screen.print(json ? JSON.stringify({ code, expires }) : inThrees(code));
  screen.prompt(
    `Open http://${urlHost(pair.host ?? hosts[0] ?? "")}:${port} on the phone and type it there. It is good for ten minutes; Ctrl-C ends it.`,
  );
  const { reason, client: paired } = await client.call("pairing.wait");
  switch (reason) {
    case "paired":
      if (json) return screen.print(JSON.stringify({ paired }));
      return screen.print(`paired ${printable(paired?.name || "a phone without a name")}`);
    case "tries":
      throw exitFailure("three tries were made, and none had the code: somebody may be guessing");
    case "expired":
      throw exitFailure("nobody typed it in time");
    case "cancelled":
      throw exitFailure(interruption.happened() ? "called off" : "it was called off elsewhere");
  }
}

const pinPollMs = 500;

/** Pairs an app with version 1 of the secure layer. No notification reports their pairing, so this polls the list. */
async function pairByPin(client: Client, { json }: CommandLine, screen: Terminal): Promise<void> {
  const known = await olderClients(client);
  const { pin, expiresAt } = await client.call("clients.pair.start");
  using interruption = onInterrupt(() => {
    client.call("clients.pair.cancel").catch(() => {});
  });
  // The clock may be set during the wait, which the service does not follow.
  const endMs = performance.now() + expiresAt * 1000 - Date.now();
  const expires = new Date(expiresAt * 1000).toISOString();
  screen.print(json ? JSON.stringify({ pin, expires }) : inThrees(pin));
  screen.prompt("Type it into the phone's app. It is good for five minutes and three tries; Ctrl-C ends it.");
  while (!interruption.happened() && performance.now() < endMs) {
    const added = (await olderClients(client)).find(({ id }) => !known.some((one) => one.id === id));
    if (added !== undefined) {
      const paired = { id: added.id, name: added.name };
      return screen.print(json ? JSON.stringify({ paired }) : `paired ${printable(added.name)}`);
    }
    await Bun.sleep(pinPollMs);
  }
  throw exitFailure(
    interruption.happened() ? "called off" : "nobody typed it in time, or not as it was shown",
  );
}

/** The clients of version 1: the service does not return their secret. */
async function olderClients(client: Client): Promise<readonly Listed[]> {
  return (await client.call("clients")).clients.filter(({ secret }) => secret === "");
}

function inThrees(digits: string): string {
  return `${digits.slice(0, 3)} ${digits.slice(3)}`;
}

async function listClients(client: Client, json: boolean, { print }: Terminal): Promise<void> {
  const { clients } = await client.call("clients");
  // Secrets are never printed.
  const shown = clients.map(({ secret: _secret, ...rest }) => rest);
  if (json) print(JSON.stringify(shown));
  else if (shown.length === 0) print("No phone or program is paired yet. (tapdeck pair)");
  else for (const line of clientLines(shown, Date.now())) print(line);
}

/** A line for each client, in columns: id, name, role, age, last use. */
export function clientLines(clients: readonly Omit<Listed, "secret">[], nowMs: number): readonly string[] {
  const rows = clients.map(({ id, name, role, added, lastUsed, expires, address }) => {
    const paired = `${expires === undefined ? "paired" : "link made"} ${ago(added, nowMs)}`;
    const used = lastUsed === undefined ? "never used" : `last used ${ago(lastUsed, nowMs)} at ${address}`;
    return [id, printable(name) || "-", role, paired, used];
  });
  return inColumns(rows);
}

type Listed = Calls["clients"]["result"]["clients"][number];

async function revokeClient(
  client: Client,
  which: string,
  { json }: CommandLine,
  { print }: Terminal,
): Promise<void> {
  const { id, name } = await clientNamed(client, which);
  await client.call("clients.delete", { id });
  if (json) print(JSON.stringify({ revoked: id }));
  else print(`${printable(name) || id} can no longer connect`);
}

async function changeRole(
  client: Client,
  which: string,
  { json, pair: { role } }: CommandLine,
  { print }: Terminal,
): Promise<void> {
  const { id, name } = await clientNamed(client, which);
  await client.call("clients.update", { id, role });
  if (json) print(JSON.stringify({ changed: id, role }));
  else print(`${printable(name) || id} is a ${role} now`);
}

/** The client with this id or name. */
async function clientNamed(client: Client, which: string): Promise<Listed> {
  const { clients } = await client.call("clients");
  const found = clients.filter(({ id, name }) => id === which || name === which);
  const [first]: readonly (Listed | undefined)[] = found;
  if (first === undefined) throw exitFailure(`no pairing has the id or name ${which}: tapdeck pair --list`);
  if (found.length > 1)
    throw exitFailure(`${found.length} have the name ${which}: say which by its id (tapdeck pair --list)`);
  return first;
}

const quietModules = 4; // The border that a reader needs (ISO/IEC 18004).
const upper = "▀";
const lower = "▄";
const both = "█";
// The 256-colour black and white, which no colour scheme changes.
const darkOnLight = "\x1b[38;5;16;48;5;231m";
const asBefore = "\x1b[0m";

/** A QR code as lines of text: two modules for each character, dark on light in every colour scheme. */
export function qrText(text: string): string {
  const { data, size } = encode(text, { ecc: "L", border: quietModules });
  let lines = "";
  for (let y = 0; y < size; y += 2) {
    let line = "";
    for (let x = 0; x < size; x++) line += character(data[y]?.[x] === true, data[y + 1]?.[x] === true);
    lines += `${darkOnLight}${line}${asBefore}\n`;
  }
  return lines;
}

function character(top: boolean, bottom: boolean): string {
  if (top) return bottom ? both : upper;
  return bottom ? lower : " ";
}
