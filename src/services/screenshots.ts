/** A picture of the present screen: a file that stays on the device, and its bytes for a phone. */
import type { MethodCaller } from "../api/connection.ts";
import type { Services } from "../api/services.ts";
import { coded, failed, publicError } from "../core/errors.ts";
import { allows } from "../core/rights.ts";
import { readPicture } from "../media/pictures.ts";

interface ScreenshotParts {
  readonly devices: {
    /**
     * Saves a picture of the device's own screen, and resolves with its path; undefined if there is no screen, or a
     * player uses it.
     */
    captureScreen(): Promise<string | undefined>;
    refuseFullScreenshots(): Promise<void>;
  };
  readonly launchQueue: {
    activeMedia(): unknown;
    /** Resolves with the path of a picture that the player saves of its media. */
    picture(): Promise<string>;
  };
}

const nothingShown = (caller: MethodCaller) =>
  allows(caller.grant(), "own")
    ? coded("picture-none", failed("nothing plays, and there is no screen to save"))
    : coded("picture-of-owner", failed("nothing plays, and only an owner may see the device's own screen"));

export function createScreenshots({ devices, launchQueue }: ScreenshotParts): Services["screenshot"] {
  let isTaking = false;
  const take = async (caller: MethodCaller): Promise<string> => {
    // A pairing code or the password of the access point may be on the device's own screen.
    const own = allows(caller.grant(), "own") ? await devices.captureScreen() : undefined;
    if (own !== undefined) return own;
    if (launchQueue.activeMedia() === undefined) throw nothingShown(caller);
    await devices.refuseFullScreenshots();
    return launchQueue.picture();
  };
  return async (maxSize, caller) => {
    if (isTaking) throw publicError("busy", "a picture is being taken already: ask again in a second");
    isTaking = true;
    try {
      const path = await take(caller);
      const picture = await readPicture(path, maxSize);
      if (picture === undefined)
        throw coded("picture-not-made", failed(`the picture is saved, but it cannot be sent: ${path}`));
      const { bytes, contentType } = picture;
      return { path, contentType, size: bytes.length, data: Buffer.from(bytes).toString("base64") };
    } finally {
      isTaking = false;
    }
  };
}
