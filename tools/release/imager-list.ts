/**
 * The list by which Raspberry Pi Imager offers the images of a release (its `doc/json-schema/os-list-schema.json`).
 *
 * `init_format` is systemd: Imager writes the host name, the SSH keys and the Wi-Fi that its user chose to `firstrun.sh` of the boot
 * partition. No program runs that file on a deck; overlay/usr/lib/tapdeck/imager-conf reads it. Imager 1.7 and later know
 * this format.
 */

export interface ListedImage {
  readonly board: string;
  readonly version: string;
  /** The time in seconds since 1970. */
  readonly time: number;
  /** The addresses of the image and of its block map. */
  readonly url: string;
  readonly blockMapUrl: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly packedBytes: number;
  readonly packedSha256: string;
}

/** Boards that Imager writes cards for, with its own picture of each. */
const models: Readonly<
  Record<string, { readonly name: string; readonly about: string; readonly icon: string }>
> = {
  zero2w: { name: "Raspberry Pi Zero 2 W", about: "Zero 2 W", icon: "RPi_Zero_2_W" },
  pi3: { name: "Raspberry Pi 3", about: "Models B and B+", icon: "RPi_3" },
  pi4: { name: "Raspberry Pi 4", about: "Model B, and 400", icon: "RPi_4" },
};

/** The text of the list; undefined if none of the boards is a Raspberry Pi. */
export function imagerListOf(images: readonly ListedImage[], icon: string): string | undefined {
  const listed = images.flatMap((image) => {
    const model = models[image.board];
    return model === undefined ? [] : [{ image, model }];
  });
  if (listed.length === 0) return undefined;
  const list = {
    imager: {
      devices: listed.map(({ image: { board }, model }) => ({
        name: model.name,
        description: model.about,
        icon: `https://downloads.raspberrypi.com/imager/icons/${model.icon}.png`,
        // The tag is one of our own, because Imager's tag of the Zero 2 W is also that of the Raspberry Pi 3.
        tags: [`tapdeck-${board}`],
        matching_type: "exclusive",
        architecture: "armv8",
      })),
    },
    os_list: listed.map(({ image, model }) => ({
      name: `Tapdeck ${image.version} for ${model.name}`,
      description: "Tap a card, and the game, song or film on it starts",
      icon,
      url: image.url,
      bmap_url: image.blockMapUrl,
      extract_size: image.bytes,
      extract_sha256: image.sha256,
      image_download_size: image.packedBytes,
      image_download_sha256: image.packedSha256,
      release_date: new Date(image.time * 1000).toISOString().slice(0, 10),
      init_format: "systemd",
      devices: [`tapdeck-${image.board}`],
      architecture: "armv8",
    })),
  };
  return `${JSON.stringify(list, undefined, 2)}\n`;
}
