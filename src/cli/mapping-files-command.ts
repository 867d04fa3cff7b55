/** `tapdeck map --export` and `--import`: all mappings as a file, TOML or CSV. */
import { readFile, stat, writeFile } from "node:fs/promises";
import { extname } from "node:path";
import { type Client, RpcError } from "../client/client.ts";
import { codeOf, exitCodes, exitFailure, messageOf, StartError } from "../core/errors.ts";
import { fileFault } from "../core/file-faults.ts";
import { mappingImportCharsMax } from "../core/limits.ts";
import { isRecord, printable } from "../core/text.ts";
import type { CommandLine } from "./arguments.ts";
import type { Terminal } from "./show.ts";

export async function exportMappings(
  client: Client,
  path: string,
  { force, json }: CommandLine,
  { print }: Terminal,
): Promise<void> {
  const { content } = await client.call("mappings.export", { format: formatOf(path) });
  try {
    await writeFile(path, content, { flag: force ? "w" : "wx" });
  } catch (error) {
    const why =
      codeOf(error) === "EEXIST" ? "there is a file already: --force replaces it" : fileFault(error);
    throw new StartError(exitCodes.cannotCreate, `${path}: ${why}`, error);
  }
  print(json ? JSON.stringify({ wrote: path }) : printable(`wrote ${path}`));
}

export async function importMappings(
  client: Client,
  path: string,
  { replace, json }: CommandLine,
  { print, prompt }: Terminal,
): Promise<void> {
  const text = { format: formatOf(path), content: await contentOf(path), replace };
  const { added, removed, notes } = await client.call("mappings.import", text).catch((error: unknown) => {
    throw exitFailure(linesOf(error, path).map(printable).join("\n"), error);
  });
  if (json) return print(JSON.stringify({ added, removed, notes }));
  for (const { line, message } of notes) prompt(printable(`${path}, line ${line}: ${message}`));
  print(`added ${added}${replace ? `, deleted ${removed}` : ""}`);
}

function formatOf(path: string): "toml" | "csv" {
  const ending = extname(path).toLowerCase();
  if (ending === ".toml") return "toml";
  if (ending === ".csv") return "csv";
  throw new StartError(exitCodes.usage, `the name of the file must end in .toml or .csv, not ${path}`);
}

async function contentOf(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > mappingImportCharsMax)
      throw new Error(`it has more than ${mappingImportCharsMax} bytes: divide it into several`);
    // With --replace an empty file would delete everything.
    if (size === 0) throw new Error("it is empty");
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (error) {
    const why = error instanceof TypeError ? "it is not UTF-8 text" : fileFault(error);
    throw new StartError(exitCodes.usage, `cannot read ${path}: ${why}`, error);
  }
}

/** The lines of the file that are wrong, each with its fault; otherwise the sentence of the service. */
function linesOf(error: unknown, path: string): readonly string[] {
  if (!(error instanceof RpcError) || !isRecord(error.data) || !Array.isArray(error.data.faults))
    return [messageOf(error)];
  const faults = error.data.faults.filter(isRecord);
  return ["nothing was imported", ...faults.map(({ line, message }) => `${path}, line ${line}: ${message}`)];
}
