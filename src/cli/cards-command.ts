/** `tapdeck cards`: makes the key and the bundle of shared cards, and shows the bundle that this device uses. */
import { rename, writeFile } from "node:fs/promises";
import type { Client } from "../client/client.ts";
import { exitCodes, exitFailure, StartError } from "../core/errors.ts";
import { pathAndFault } from "../core/file-faults.ts";
import { ago, didYouMean, printable } from "../core/text.ts";
import type { CommandLine } from "./arguments.ts";
import { commandHelp } from "./help.ts";
import { inColumns, type Terminal } from "./show.ts";

const cardsActions = ["status", "key", "publish"];

/** `cards` without a further word shows the status. */
export function isCardsStatus([action = "status", ...more]: readonly string[]): boolean {
  return action === "status" && more.length === 0;
}

/** `key` and `publish` need no service: they run on the computer of the owner of the cards. */
export async function makeSharedCards(
  { words, json }: Pick<CommandLine, "words" | "json">,
  { print }: Pick<Terminal, "print">,
): Promise<void> {
  const [action = "", ...files] = words;
  const { makeBundle, makeCardsKey } = await import("../fleet/shared-cards-bundle.ts");
  const [first = "", key = "", out = ""] = files;
  try {
    if (action === "key" && files.length === 1) {
      const publicHex = await makeCardsKey(first);
      print(json ? JSON.stringify({ key: publicHex }) : publicHex);
    } else if (action === "publish" && files.length === 3) {
      // The number is the time in milliseconds, which grows without a file that remembers the last number.
      const serial = Date.now();
      const made = await makeBundle(first, key, serial);
      // A server may be sending the earlier file at this moment.
      await writeFile(`${out}.new`, made.text);
      await rename(`${out}.new`, out);
      print(
        json
          ? JSON.stringify({ serial, files: made.files, key: made.publicHex })
          : printable(`${out}: serial ${serial}, ${made.files.join(", ")}; cards.key = "${made.publicHex}"`),
      );
    } else
      throw new StartError(
        exitCodes.usage,
        `use it as: tapdeck ${commandHelp.cards.usage}${didYouMean(action, cardsActions)} (tapdeck --help)`,
      );
  } catch (error) {
    throw error instanceof StartError ? error : exitFailure(printable(pathAndFault(error)), error);
  }
}

export async function showSharedCards(
  client: Client,
  { json }: Pick<CommandLine, "json">,
  { print }: Pick<Terminal, "print">,
): Promise<void> {
  const cards = await client.call("mappings.shared");
  if (json) return print(JSON.stringify(cards));
  if (cards === null) return print("no shared cards: the setting cards.url is empty");
  const { url, serial, files = [], checked, fault } = cards;
  const rows = [
    ["address", url],
    ["in use", serial === undefined ? "nothing yet" : `serial ${serial}: ${files.join(", ")}`],
    ["checked", checked === undefined ? "not yet" : ago(checked, Date.now())],
    ...(fault === undefined ? [] : [["fault", fault]]),
  ];
  print(inColumns(rows.map((row) => row.map(printable))).join("\n"));
}
