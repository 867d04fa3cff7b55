/** The shapes of the share of the media folder for PCs. */
import * as v from "valibot";
import { sharePasswordCharsMax, sharePasswordCharsMin } from "./console-limits.ts";
import type { ValueOf } from "./shapes.ts";

export const shareReport = v.object({
  /** `none`: this is not the image, or it has no server. `off`: no password is set, or the server does not run. */
  state: v.picklist(["none", "off", "starting", "on"]),
  fault: v.exactOptional(v.literal("failed")),
  /** The name of the device on the network, with which PCs find it. */
  host: v.exactOptional(v.string()),
});
export type ShareReport = ValueOf<typeof shareReport>;

/** True for a text of the allowed length without control characters. */
export function isSharePassword(text: string): boolean {
  const { length } = [...text];
  return length >= sharePasswordCharsMin && length <= sharePasswordCharsMax && !/\p{C}/u.test(text);
}

export const shareRequest = v.object({
  password: v.pipe(v.string(), v.maxLength(2 * sharePasswordCharsMax)),
});
