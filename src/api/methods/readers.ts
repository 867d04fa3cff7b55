/** `readers` and writing to what lies on them (contract, methods detail 8; decisions, "Methods ..."). */
import * as v from "valibot";
import { method, noParams } from "../method.ts";
import { nothing, reader } from "../schemas.ts";

const readerId = v.optional(v.pipe(v.string(), v.maxLength(128)));

export const readers = method({
  name: "readers",
  access: "anyone",
  docs: "The readers that are connected, and those of the config file that are not.",
  params: noParams,
  result: v.object({ readers: v.array(reader) }),
  run: (services) => ({ readers: services.readers() }),
});

export const readersWrite = method({
  name: "readers.write",
  access: "anyone",
  isLong: true,
  docs: "Writes a launch script to the tag on a reader: on the first that can write, or on the one named. Answers once it was written and read back equal; the tag is not launched.",
  params: v.object({ text: v.pipe(v.string(), v.minLength(1)), readerId }),
  result: nothing,
  errors: ["no-reader", "write-failed", "conflict", "not-found"],
  async run(services, { text, readerId: id }) {
    await services.write(text, id);
    return null;
  },
});

export const readersWriteCancel = method({
  name: "readers.write.cancel",
  access: "anyone",
  docs: "Ends the write that waits for a tag, on the reader named or on any.",
  params: v.object({ readerId }),
  result: nothing,
  run(services, { readerId: id }) {
    services.cancelWrite(id);
    return null;
  },
});
