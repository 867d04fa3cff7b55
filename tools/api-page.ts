/** Makes docs/API.md from the API's own description: `bun tools/api-page.ts`. A test compares the page with its output. */
import { join } from "node:path";
import { type DescribedMethod, describeApi } from "../src/api/openrpc.ts";
import { rpcCodes } from "../src/core/errors.ts";
import { faultOrigins, faultTable, launchReasons } from "../src/core/faults.ts";
import { uploadChunkBytesMax } from "../src/core/limits.ts";
import { refusalMeanings } from "../src/core/refusals.ts";

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly default?: unknown;
  /** The schema that no value fits. */
  readonly not?: unknown;
}

export const pagePath = join(import.meta.dir, "../docs/API.md");

export function apiPage(): string {
  const { methods } = describeApi("");
  const [calls, told] = [
    methods.filter(({ result }) => result !== undefined),
    methods.filter(({ result }) => result === undefined),
  ];
  return `# The control API

\`tools/api-page.ts\` makes this page from the methods. \`rpc.discover\` returns the same as an OpenRPC document.
[NETWORK.md](NETWORK.md) says how to connect.

- JSON-RPC 2.0 over WebSocket is at \`ws://<host>:7497/api/v0.1\`. \`POST\` uses the same path.
- Notifications also come as Server-Sent Events at \`/api/v0.1/events\`.
- The text \`ping\` is answered with \`pong\`.
- Params go by name or by place; \`?\` marks an optional one.

\`data.reason\` of an error is a word for programs:

| code | reason |
|---|---|
${Object.entries(rpcCodes)
  .map(([reason, code]) => `| ${code} | ${reason} |`)
  .join("\n")}

## Rights

Each method requires one right. Each notification goes to the callers that have its right. A call without the right is refused
with \`forbidden\` and \`data.right\`.

| right | allows | callers that have it |
|---|---|---|
| \`look\` | the state of the device and its media, and nothing about cards | all below; over TLS also unpaired callers, unless \`api.anonymous\` is \`none\` |
| \`play\` | to start and stop media; scripts are not trusted | all below; over TLS also unpaired callers, by default |
| \`change\` | to work with cards, mappings and settings; scripts are trusted | paired members and owners; callers on the device, except players |
| \`own\` | to administer the device | paired owners; callers on the device, except players; some methods refuse paired owners |

## Uploads

\`uploads.start\` declares files, and answers with the \`id\`, the \`offset\` and the \`key\` of each. The bytes go over HTTP:

\`PUT /uploads/<id>?offset=<offset>\` has up to ${uploadChunkBytesMax} bytes of the file from this offset. Send the next PUT of a file after the answer:

| status | meaning |
|---|---|
| 200 | the bytes are there; \`{"offset":N}\` is the new end |
| 409 | the upload continues at another offset, or over another connection: call \`uploads.start\` again |
| 403, 404 | there is no such upload, its key has changed, or the right \`change\` is missing |
| 413 | more bytes than the file has, or than one PUT takes |
| 429, 503 | too many requests or uploads at a time: wait a second |
| 507 | the disk is full, or refuses the write; the body is a sentence |

\`uploads.finish\` checks the hash, and makes the bytes a media file. After a lost connection or a restart of the service,
\`uploads.start\` for the same file answers with the offset to continue from.

Callers on the device, and paired members and owners over TLS with a bearer token, send the bytes as they are. All others seal them and
add \`&sealed=1\`. The body is then a row of frames: 16 KiB of the file each, less in the last one, sealed by ChaCha20-Poly1305
(RFC 8439, the tag at the end). The key is \`key\`, 32 bytes in hex. The nonce is 4 bytes of zero and the frame's offset in the file
as a 64-bit little-endian number. The associated data is the \`id\` in ASCII. Seal no offset twice with one key: each
\`uploads.start\` makes another key. \`src/client/upload.ts\` is a client.

## Known apps

The known phone app of this API family compares \`version\` with the version from which its own server has a feature. It hides a
feature that is newer. \`version\` is the plain version of Tapdeck, so the app shows the features of the first servers. The methods
of its library screens work already, and other clients may also use them. A higher \`version\` would show these features:

| from | the app shows | what it uses | in Tapdeck |
|---|---|---|---|
| 2.7.0 | updates of the media index; filters by tags | \`media.generate\` and its family; \`media.tags\`, and \`tags\` of \`media.search\` | \`media.generate.resume\` is missing |
| 2.8.0 | an inbox of messages | \`inbox\`, \`inbox.delete\`, \`inbox.clear\`, \`inbox.added\` | none; there are no messages to keep |
| 2.9.0 | writing what plays to a card | \`zapScript\` of the media that plays | no such field |
| 2.10.0 | a remote control; a list of all media | \`input.keyboard\`, \`input.gamepad\`; \`media.search\` without words and systems | the remote control, if \`script.allow_input\` is on; such a search is refused |
| 2.12.0 | scrapers; removal of lost media | \`scrapers\`, \`media.scrape\` and its family, \`media.clean.orphans\` | none; pictures come from files, and each index drops lost media |
| 2.15.0 | the library | \`systems\`, \`media.browse\`, \`media.image\`, and for details \`media.meta\`, for its letters \`media.browse.index\` | \`media.meta\` and \`media.browse.index\` are missing |
| 2.15.0 | favourites | \`media.tags.update\`, \`media.search\` by tag | none |
| 2.15.0 | tags that tell equal names apart; mappings of files; a second place for music | \`disambiguatingTags\`; \`includeReadOnly\` of \`mappings\`; \`slot\` of \`media.active\` and \`media.control\` | \`readOnly\` of mappings only |
| 2.16.0 | profiles; a linked account | \`profiles\` and its family; \`settings.auth.*\` | none |

The app takes a version that is no plain semver for one with all features.

## Faults

\`checks\` of \`health\` name the faults. Each has a \`code\`, its origin \`of\`, and often a \`subject\`. The origin \`system\` is the software
or the board, \`owner\` the media, programs, settings and cards of the owner, and \`others\` brokers, servers and networks. Codes are
stable. Sentences may change in any version. A word in braces is a field of the fault.

| code | of | sentence |
|---|---|---|
${faultOrigins.flatMap((of) => Object.entries(faultTable[of]).map(([code, sentence]) => `| ${code} | ${of} | ${sentence} |`)).join("\n")}

## Reasons of failed launches

\`reason\` of \`launch.finished\` and of \`tokens.history\` is one of these codes. \`error\` has the details in a sentence.

| code | meaning |
|---|---|
${Object.entries(launchReasons)
  .map(([code, meaning]) => `| ${code} | ${meaning} |`)
  .join("\n")}

## Refusals

\`data.refusal\` of an error is one of these codes, or one of the reasons of failed launches, so that a page can say it in its own
language. A word in braces is a field of \`data\`. An error without one has only its \`data.reason\`. \`message\` has the details in
a sentence.

| code | meaning |
|---|---|
${Object.entries(refusalMeanings)
  .map(([code, meaning]) => `| ${code} | ${meaning} |`)
  .join("\n")}

## Methods

${calls.map(methodPart).join("\n")}
## Notifications

${told.map(notificationPart).join("\n")}`;
}

function methodPart(method: DescribedMethod): string {
  const { name, description, result, errors = [] } = method;
  const own = errors.map(({ message }) => message).filter((reason) => reason !== "invalid-params");
  const short = method["x-shorthand"];
  return `### ${name}

${description}

- right: \`${method["x-right"]}\`${method["x-right"] === "own" ? ", on the device only" : ""}
- params: ${paramsText(method)}${short === undefined ? "" : `, or a string in place of \`{ ${short} }\``}
- result: \`${shapeOf(result?.schema ?? {})}\`
${own.length === 0 ? "" : `- refusals: ${own.join(", ")}\n`}`;
}

function notificationPart(method: DescribedMethod): string {
  return `### ${method.name}\n\n${method.description}\n\n- right: \`${method["x-right"]}\`\n- params: ${paramsText(method)}\n`;
}

function paramsText(method: DescribedMethod): string {
  return method.params.length === 0 ? "none" : `\`${shapeOf(method["x-params"])}\``;
}

// A longer list of codes is a table of this page.
const listedMax = 12;

/** A schema in the shorthand of type declarations, with its bounds. */
function shapeOf(schema: Schema): string {
  if (schema.enum !== undefined && schema.enum.length > listedMax) return "string";
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (schema.properties !== undefined) {
    const stated = Object.entries(schema.properties).filter(([, { not }]) => not === undefined);
    const fields = stated.map(([name, field]) => {
      const optional = schema.required?.includes(name) === true ? "" : "?";
      const given = field.default === undefined ? "" : ` = ${JSON.stringify(field.default)}`;
      return `${name}${optional}: ${shapeOf(field)}${given}`;
    });
    return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
  }
  if (schema.anyOf !== undefined) return schema.anyOf.map(shapeOf).join(" or ");
  if (schema.type === "array") return `[${shapeOf(schema.items ?? {})}, ...]`;
  if (schema.format === "date-time") return "RFC 3339";
  return `${schema.type ?? "any"}${boundsOf(schema)}`;
}

function boundsOf({ minimum, maximum, maxLength }: Schema): string {
  if (maxLength !== undefined) return ` up to ${maxLength}`;
  if (minimum === Number.MIN_SAFE_INTEGER || (minimum === undefined && maximum === undefined)) return "";
  return maximum === undefined ? ` from ${minimum}` : ` ${minimum} to ${maximum}`;
}

if (import.meta.main) await Bun.write(pagePath, apiPage());
