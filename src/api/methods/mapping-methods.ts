/** Mappings from tokens to scripts: `mappings`, their changes one by one, and all of them as the text of a file. */
import * as v from "valibot";
import {
  importFaultsMax,
  mappingImportCharsMax,
  partialMappingsMax,
  patternFieldCharsMax,
  regexMappingsMax,
} from "../../core/limits.ts";
import { count, mapping } from "../../core/shapes.ts";
import { method } from "../method.ts";
import {
  hasContent,
  lineNote,
  mappingFields,
  mappingId,
  sharedCards,
  tokenFields,
  toToken,
} from "../schemas.ts";

const format = v.picklist(["toml", "csv"]);

export const mappingMethods = [
  method({
    name: "mappings",
    right: "change",
    docs: "All mappings, enabled or not, in the order in which they are tried. Those with `readOnly` are in files of the owner, and `file` is the name of theirs.",
    result: v.object({ mappings: v.array(mapping) }),
    run: (services) => ({ mappings: services.mappings.list() }),
  }),
  method({
    name: "mappings.shared",
    right: "change",
    docs: "The bundle of shared cards in use, its serial number and its files; `checked` is the time of the server's last answer, and `fault` says why its bundle is not in use, or why it did not answer. Null if the setting `cards.url` is empty.",
    result: v.nullable(sharedCards),
    run: (services) => services.sharedCards() ?? null,
  }),
  method({
    name: "mappings.new",
    right: "change",
    docs: `Stores a mapping after all others, and returns its id. A second enabled mapping for exactly one UID is refused with \`conflict\`, and \`data.id\` is the first. \`warning\` is a sentence if the text would start nothing now, because it has a fault or its file is missing; the mapping is stored nevertheless. An invalid \`regex\` pattern is refused with the place of the fault. At most ${regexMappingsMax} enabled mappings may have the match \`regex\`, and ${partialMappingsMax} the match \`partial\`; one more is refused with \`busy\`. Both kinds read the first ${patternFieldCharsMax} characters of a field.`,
    params: v.object(mappingFields),
    changes: (_params, { id }) => `mapping ${id}`,
    result: v.object({ id: v.pipe(v.number(), v.integer()), warning: v.optional(v.string()) }),
    errors: ["busy", "conflict", "failed"],
    async run(services, { label = "", ...fields }) {
      const id = services.mappings.add({ ...fields, label });
      const warning = await services.mappings.warningOf(fields.override);
      return { id, ...(warning === undefined ? {} : { warning }) };
    },
  }),
  method({
    name: "mappings.update",
    right: "change",
    docs: "Changes the given fields and no others.",
    params: v.object({ id: mappingId, ...v.partial(v.object(mappingFields)).entries }),
    changes: ({ id }) => `mapping ${id}`,
    errors: ["busy", "conflict", "not-found", "forbidden", "failed"],
    run: (services, { id, ...changes }) => services.mappings.update(id, changes),
  }),
  method({
    name: "mappings.delete",
    right: "change",
    docs: "Deletes a mapping. Its id is never used again.",
    params: v.object({ id: mappingId }),
    changes: ({ id }) => `mapping ${id}`,
    errors: ["not-found", "forbidden", "failed"],
    run: (services, { id }) => services.mappings.remove(id),
  }),
  method({
    name: "mappings.test",
    right: "change",
    docs: "Shows what a token would start, without starting it. `matches` holds the ids of the first mappings that match: the first one counts, and the others have no effect. `script` is the text that would be launched, and `warning` a sentence if it would start nothing. With `draft`, the answer is as if that mapping were stored. A `draft` with an `id` changes the mapping with that id. A `draft` without one is a new mapping, whose id in `matches` is 0.",
    params: v.pipe(
      v.object({
        ...tokenFields,
        draft: v.optional(v.object({ ...mappingFields, id: v.optional(mappingId) })),
      }),
      hasContent(),
    ),
    result: v.object({
      matches: v.array(v.pipe(v.number(), v.integer())),
      script: v.string(),
      warning: v.optional(v.string()),
    }),
    errors: ["busy"],
    async run(services, { draft, ...token }) {
      const found = services.mappings.test(
        toToken(token),
        draft && { ...draft, label: draft.label ?? "", id: draft.id ?? 0 },
      );
      const warning =
        found.script === ""
          ? "there is no text on this token"
          : await services.mappings.warningOf(found.script);
      return { ...found, ...(warning === undefined ? {} : { warning }) };
    },
  }),
  method({
    name: "mappings.export",
    right: "change",
    docs: "All mappings of the database as the text of a file, for `mappings.import`. As TOML it can also be a file in the folder `mappings` of the settings. Mappings with `readOnly` are left out, because they are in such files already.",
    params: v.object({ format }),
    result: v.object({ content: v.string() }),
    run: (services, { format }) => ({ content: services.mappings.exported(format) }),
  }),
  method({
    name: "mappings.import",
    right: "change",
    isLong: true,
    docs: `Stores all mappings of a text after the others, or none of them. With \`replace\` they take the place of all mappings of the database, and an empty text deletes those. TOML has \`[[mapping]]\` tables. CSV (RFC 4180) has a first row with the names of the columns: \`type\`, \`pattern\` and \`override\`, and if needed \`match\` (else \`exact\`), \`enabled\` (else true) and \`label\`. If a line is invalid, or has another text for a UID that has one already, nothing changes: \`message\` has the first such line, and \`data.faults\` up to ${importFaultsMax}, each with \`line\` and \`message\`. A mapping that is there already is left out. \`notes\` has the lines that were left out and the lines whose text would start nothing now, up to ${importFaultsMax} in all.`,
    params: v.object({
      format,
      content: v.pipe(v.string(), v.maxLength(mappingImportCharsMax)),
      replace: v.optional(v.boolean(), false),
    }),
    changes: (_params, { added, removed }) => `${added} mappings added, ${removed} removed`,
    result: v.object({ added: count, removed: count, notes: v.array(lineNote) }),
    errors: ["busy", "conflict", "failed"],
    async run({ mappings }, text) {
      const { added, removed, notes } = await mappings.import(text);
      const all = [...notes];
      for (const { line, params } of added) {
        if (all.length >= importFaultsMax) break;
        const message = await mappings.warningOf(params.override);
        if (message !== undefined) all.push({ line, message });
      }
      all.sort((a, b) => a.line - b.line);
      return { added: added.length, removed, notes: all.slice(0, importFaultsMax) };
    },
  }),
] as const;
