/** Mappings from tokens to scripts: `mappings`, `mappings.new`, `mappings.update`, `mappings.delete`. */
import * as v from "valibot";
import { mapping } from "../../core/shapes.ts";
import { method } from "../method.ts";
import { mappingFields, mappingId } from "../schemas.ts";

export const mappingMethods = [
  method({
    name: "mappings",
    right: "change",
    docs: "All mappings, enabled or not, in the order in which they are tried. Those with `readOnly` are in files of the owner.",
    result: v.object({ mappings: v.array(mapping) }),
    run: (services) => ({ mappings: services.mappings.list() }),
  }),
  method({
    name: "mappings.new",
    right: "change",
    docs: "Stores a mapping after all others, and returns its id. A second enabled mapping for exactly one UID is refused with `conflict`, and `data.id` is the first. `warning` is a sentence if the text would start nothing now, because it has a fault or its file is missing; the mapping is stored nevertheless. An invalid `regex` pattern is refused with the place of the fault. A pattern that makes taps too slow, by itself or with the others, is refused with its cost and the limit. Regular expressions read the first 4,096 characters of a field.",
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
] as const;
