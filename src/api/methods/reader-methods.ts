/** Readers, writing to tags, and virtual input devices: `readers`, `readers.write`, `input.keyboard`, `input.gamepad`. */
import * as v from "valibot";
import { scriptBytesMax } from "../../core/limits.ts";
import { allows } from "../../core/rights.ts";
import { reader, refusedReader } from "../../core/shapes.ts";
import { method } from "../method.ts";
import { writeRequest } from "../schemas.ts";

const macro = v.pipe(v.string(), v.minLength(1), v.maxLength(scriptBytesMax));
const docs =
  "Refused unless the config file says `script.allow_input = true`. Answers when all keys are released. [SCRIPT.md](SCRIPT.md) describes the text.";

export const readerMethods = [
  method({
    name: "readers",
    right: "change",
    docs: "The readers that are connected, and those of the config file that are not. `refused` has the reason for each reader that is not connected, and for each port that did not open as a reader at the last try: missing rights, another program, or no answer. It is absent if there is none.",
    result: v.object({ readers: v.array(reader), refused: v.exactOptional(v.array(refusedReader)) }),
    run(services) {
      const refused = services.refusedReaders();
      return { readers: services.readers(), ...(refused.length === 0 ? {} : { refused: [...refused] }) };
    },
  }),
  method({
    name: "readers.write",
    right: "change",
    isLong: true,
    docs: "Writes a launch script to the tag on a reader: on the named reader, or on the first that can write. Waits up to 28 s for a tag, and answers when the tag was written and read back equal. The tag is launched only after it was taken off and put on again. If the caller disconnects before a tag was found, the write is cancelled. A second write of a WebSocket for the same reader takes the place of the first, which answers `conflict`. With `force`, it also overwrites a tag that holds data of another kind. With `newTag`, the tag of the previous write is skipped while it stays on the reader. With the value `uri` of `record`, it writes a link that phones open, instead of a text. If a tag was not written, `data.cause` says why: `locked`, `too-small` (and `data.bytesMissing`), `gone`, `mismatch`, `password`, `foreign`, `unsupported` or `timeout`.",
    params: writeRequest,
    changes: ({ readerId: id }) => `tag on ${id ?? "any reader"}`,
    errors: ["no-reader", "write-failed", "conflict", "not-found", "failed"],
    run: (services, request, { gone }) => services.write(request, gone()),
  }),
  method({
    name: "readers.write.cancel",
    right: "change",
    docs: "Ends the write that waits for a tag, on the named reader or on any. That write answers `failed`. A write that has begun is completed.",
    params: v.pick(writeRequest, ["readerId"]),
    errors: ["not-found"],
    run: (services, { readerId: id }) => services.cancelWrite(id),
  }),
  method({
    name: "input.keyboard",
    right: "change",
    isLong: true,
    docs: `Types on a virtual keyboard with US layout: \`abc{enter}{ctrl+c}\`. ${docs}`,
    params: v.object({ keys: macro }),
    errors: ["busy", "failed", "forbidden"],
    run: (services, { keys }, { grant }) => services.input("keyboard", keys, () => allows(grant(), "change")),
  }),
  method({
    name: "input.gamepad",
    right: "change",
    isLong: true,
    docs: `Presses buttons of a virtual gamepad: \`^^vv<><>BA{start}\`. ${docs}`,
    params: v.object({ buttons: macro }),
    errors: ["busy", "failed", "forbidden"],
    run: (services, { buttons }, { grant }) =>
      services.input("gamepad", buttons, () => allows(grant(), "change")),
  }),
] as const;
