/** Decks on other machines: `tapdeck join` pairs this computer with one, and `--host` sends a command there. */
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { type Client, connect, type Identity, pair, RpcError } from "../client/client.ts";
import { isStranger } from "../client/link.ts";
import { codeOf, exitCodes, exitFailure, StartError } from "../core/errors.ts";
import { fileFault } from "../core/file-faults.ts";
import { readPairingHash } from "../core/pairing-link.ts";
import { isRecord, parseJson, printable } from "../core/text.ts";
import type { CommandLine } from "./arguments.ts";
import type { Terminal } from "./show.ts";

const usualPort = "7497";

interface OtherDeck {
  /** The host with its port, such as `deck.local:7497`. */
  readonly name: string;
  readonly url: string;
  /** The part of a pairing link that holds the credentials; empty without one. */
  readonly hash: string;
}

/** Reads a host with or without a port, or a link to the deck's page. */
function deckAt(text: string): OtherDeck {
  const address = /^https?:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || url.hostname === "")
    throw new StartError(
      exitCodes.usage,
      `${printable(text)} is no host: use a name or an address, such as deck.local`,
    );
  const { hostname: host, port, hash } = url;
  const name = `${host}:${port || usualPort}`;
  return { name, url: `ws://${name}/api/v0.1`, hash };
}

const identityFile = (folder: string, { name }: OtherDeck) =>
  join(folder, "decks", `${name.replace(/[^\w.-]/g, "_")}.json`);

/** Pairs this computer by a link or by six digits, and keeps its credentials below `folder`, the folder of the settings. */
export async function joinDeck(
  { words: [where = "", code], json, timeoutMs }: CommandLine,
  folder: string,
  waitMs: number,
  { print }: Pick<Terminal, "print">,
): Promise<void> {
  const deck = deckAt(where);
  const signal = AbortSignal.timeout(timeoutMs ?? waitMs);
  const linked = readPairingHash(deck.hash);
  if (linked === undefined && code === undefined)
    throw new StartError(
      exitCodes.usage,
      "name the six digits that tapdeck pair --code shows there, or the link of tapdeck pair",
    );
  try {
    const identity = linked ?? (await pair(deck.url, code ?? "", { name: hostname(), signal }));
    const client = await connect(deck.url, { ...identity, signal });
    const { rights } = await client.call("rights");
    client.close();
    await keep(identityFile(folder, deck), identity);
    const right = rights.at(-1) ?? "none";
    print(
      json
        ? JSON.stringify({ host: deck.name, rights })
        : `joined ${deck.name}, with the right ${right}: tapdeck --host ${deck.name} status`,
    );
  } catch (error) {
    throw refusal(error, deck, signal);
  }
}

/** Stores the credentials in a file that only its owner may read, as for other secrets. */
async function keep(path: string, { id, secret }: Identity): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, JSON.stringify({ id, secret }), { mode: 0o600 });
  await chmod(path, 0o600);
}

/** Connects to a deck that this computer has joined. */
export async function reachDeck(host: string, folder: string, waitMs: number): Promise<Client> {
  const deck = deckAt(host);
  const signal = AbortSignal.timeout(waitMs);
  try {
    const identity = await read(identityFile(folder, deck));
    if (identity === undefined)
      throw new StartError(
        exitCodes.usage,
        `this computer has not joined ${deck.name}: tapdeck join ${deck.name} CODE, with the digits that tapdeck pair --code shows there`,
      );
    return await connect(deck.url, { ...identity, signal });
  } catch (error) {
    throw refusal(error, deck, signal);
  }
}

async function read(path: string): Promise<Identity | undefined> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return "";
    throw new StartError(exitCodes.cannotCreate, `cannot read ${path}: ${fileFault(error)}`, error);
  });
  const found = parseJson(text);
  if (!isRecord(found) || typeof found.id !== "string" || typeof found.secret !== "string") return undefined;
  return { id: found.id, secret: found.secret };
}

function refusal(error: unknown, { name }: OtherDeck, signal: AbortSignal): Error {
  if (error instanceof StartError) return error;
  if (isStranger(error))
    return new StartError(
      exitCodes.unavailable,
      `${name} does not know this computer any more: join it again`,
      error,
    );
  if (error instanceof RpcError) return exitFailure(printable(error.message), error);
  const sentence = signal.aborted
    ? `${name} has not answered: wait longer with --timeout`
    : `${name} does not answer: is it on, and does its api.listen let this network in?`;
  return new StartError(exitCodes.unavailable, sentence, error);
}
