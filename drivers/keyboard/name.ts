/** What stands behind `hid-keyboard:` in the config: which device is meant, and how it types. */
import { type LayoutName, layoutNames } from "../protocol/keyboard-layouts.ts";

export interface KeyboardName {
  /** The node to open; undefined where any device with the id will do. */
  readonly node: string | undefined;
  /** The id that the device must have; undefined where those of the table are meant. */
  readonly id: string | undefined;
  readonly layout: LayoutName;
  readonly codes: Codes | undefined;
}

/** What a reader's codes are: the number of a card, or the text of a barcode. */
export type Codes = "uid" | "text";

export type ParsedName =
  | { readonly kind: "name"; readonly name: KeyboardName }
  | { readonly kind: "error"; readonly why: string };

const idForm = /^[0-9a-f]{4}:[0-9a-f]{4}$/;

/** `08ff:0009`, or `/dev/input/by-path/...?id=08ff:0009`; then `?layout=de&codes=text`. */
export function parseKeyboardName(text: string): ParsedName {
  const [device = "", query = ""] = text.split("?");
  const options = new URLSearchParams(query);
  const layout = layoutNames.find((known) => known === (options.get("layout") ?? "us"));
  if (layout === undefined)
    return error(`there is no layout ${options.get("layout")}: use one of ${layoutNames.join(", ")}`);
  const codes = options.get("codes") ?? undefined;
  if (codes !== undefined && codes !== "uid" && codes !== "text")
    return error("codes is uid, for the numbers of cards, or text, for barcodes");
  const isNode = device.startsWith("/dev/");
  const id = (isNode ? options.get("id") : device)?.toLowerCase();
  if (id !== undefined && !idForm.test(id))
    return error("name the reader by its USB id, as hid-keyboard:08ff:0009; `lsusb` lists them");
  return { kind: "name", name: { node: isNode ? device : undefined, id, layout, codes } };
}

function error(why: string): ParsedName {
  return { kind: "error", why };
}
