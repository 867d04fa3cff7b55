/** Readers, writing to tags, and virtual input devices: `readers`, `readers.write`, `input.keyboard`, `input.gamepad`. */
import * as v from "valibot";
import { scriptBytesMax } from "../../core/limits.ts";
import { method, noParams } from "../method.ts";
import { nothing, reader } from "../schemas.ts";

const readerId = v.optional(v.pipe(v.string(), v.maxLength(128)));

export const readers = method({
  name: "readers",
  right: "change",
  docs: "The readers that are connected, and those of the config file that are not.",
  params: noParams,
  result: v.object({ readers: v.array(reader) }),
  run: (services) => ({ readers: services.readers() }),
});

export const readersWrite = method({
  name: "readers.write",
  right: "change",
  isLong: true,
  docs: "Writes a launch script to the tag on a reader: on the first that can write, or on the one named. Waits up to 30 s for a tag, and answers once it was written and read back equal; the tag is not launched until it was taken off and laid on again. A caller that goes away before a tag was found calls it off. With `force`, a tag that holds data of another kind is overwritten, too; with `newTag`, the tag that still lies there from the write before is passed over; `record` `uri` writes a link that phones open, not a text. Where a tag was not written, `data.cause` tells why: `locked`, `too-small` (and `data.bytesMissing`), `gone`, `mismatch`, `password`, `foreign`, `unsupported` or `timeout`.",
  params: v.object({
    text: v.pipe(v.string(), v.minLength(1)),
    readerId,
    force: v.optional(v.boolean()),
    newTag: v.optional(v.boolean()),
    record: v.optional(v.picklist(["text", "uri"])),
  }),
  changes: ({ readerId: id }) => `tag on ${id ?? "any reader"}`,
  result: nothing,
  errors: ["no-reader", "write-failed", "conflict", "not-found", "failed"],
  async run(services, request, { gone }) {
    await services.write(request, gone());
    return null;
  },
});

export const readersWriteCancel = method({
  name: "readers.write.cancel",
  right: "change",
  docs: "Ends the write that waits for a tag, on the reader named or on any; it answers `failed`. A write that has begun is carried out.",
  params: v.object({ readerId }),
  result: nothing,
  errors: ["not-found"],
  run(services, { readerId: id }) {
    services.cancelWrite(id);
    return null;
  },
});

const macro = v.pipe(v.string(), v.minLength(1), v.maxLength(scriptBytesMax));
const docs =
  "Refused unless the config file says `script.allow_input = true`. Answers once all is up again. What may stand there is written in [SCRIPT.md](SCRIPT.md).";

export const inputKeyboard = method({
  name: "input.keyboard",
  right: "change",
  isLong: true,
  docs: `Types on a virtual keyboard with US layout: \`abc{enter}{ctrl+c}\`. ${docs}`,
  params: v.object({ keys: macro }),
  result: nothing,
  errors: ["busy", "failed", "forbidden"],
  async run(services, { keys }) {
    await services.input("keyboard", keys);
    return null;
  },
});

export const inputGamepad = method({
  name: "input.gamepad",
  right: "change",
  isLong: true,
  docs: `Presses buttons of a virtual gamepad: \`^^vv<><>BA{start}\`. ${docs}`,
  params: v.object({ buttons: macro }),
  result: nothing,
  errors: ["busy", "failed", "forbidden"],
  async run(services, { buttons }) {
    await services.input("gamepad", buttons);
    return null;
  },
});
