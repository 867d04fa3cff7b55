/**
 * Debian's packages that the stand-in image and the virtual machines of the tests are made of; those that they depend on are fetched
 * with them. The image takes of them the files that tools/image/main.ts and tools/image/players.ts name, and their libraries.
 */
export const packages: readonly string[] = [
  "busybox-static",
  "libstdc++6",
  // sfdisk and partx grow the partition, e2fsprogs its file system.
  "fdisk",
  "util-linux",
  "e2fsprogs",
  // SSH and SFTP.
  "dropbear-bin",
  "openssh-sftp-server",
  // The addon for HID readers.
  "libudev1",
  "libusb-1.0-0",
  // Players: films and sound, games, and a free core for each of three families of systems.
  "mpv",
  "retroarch",
  "libretro-nestopia",
  "libretro-gambatte",
  "libretro-mgba",
  "libretro-core-info",
  "alsa-utils",
  // The picture on a machine whose display has no graphics processor.
  "libgl1-mesa-dri",
  "libegl-mesa0",
];

/** Dependencies of which the image needs no file: 190 MB of menus' pictures, of fonts, and of what installs packages. */
export const unusedPackages: readonly string[] = [
  "retroarch-assets",
  "fonts-noto-extra",
  "fonts-roboto-unhinted",
  "fonts-droid-fallback",
  "shared-mime-info",
  "debconf",
  "dpkg",
  "tar",
];

/** Named by addons, which are inside the binary, where nobody sees their names. */
export const addonLibraries: readonly string[] = ["libudev.so.1", "libusb-1.0.so.0", "libstdc++.so.6"];
