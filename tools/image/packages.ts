/**
 * Debian's packages for the stand-in image and the virtual machines of the tests; their dependencies are also downloaded. The
 * image gets the files that tools/image/main.ts and tools/image/players.ts name, and their libraries.
 */
export const packages: readonly string[] = [
  "busybox-static",
  "libstdc++6",
  // sfdisk and partx extend the partition, and e2fsprogs its file system.
  "fdisk",
  "util-linux",
  "e2fsprogs",
  // kmod loads modules, and follows a blacklist.
  "kmod",
  // SSH and SFTP.
  "dropbear-bin",
  "openssh-sftp-server",
  // avahi announces the name in .local, and DNS-SD.
  "avahi-daemon",
  // Wi-Fi, and the access point by which a phone sets it up.
  "wpasupplicant",
  "hostapd",
  "dnsmasq-base",
  // Bluetooth, whose programs talk over D-Bus.
  "bluez",
  "dbus-bin",
  "dbus-daemon",
  // Headphones and speakers by Bluetooth: the encoder, and the sound device that leads to it.
  "bluez-alsa-utils",
  "libasound2-plugin-bluez",
  // The addon for HID readers needs this library.
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
  // The television of the virtual machine, which answers over an emulated cable.
  "v4l-utils",
  // Drawing on a machine without a graphics processor.
  "libgl1-mesa-dri",
  "libegl-mesa0",
  // RAUC is compiled from Debian's source, because Debian's own program needs D-Bus.
  "libglib2.0-dev",
  "libssl-dev",
];

/** Dependencies without a file for the image: 190 MB of pictures for menus, fonts and package tools. */
export const unusedPackages: readonly string[] = [
  "retroarch-assets",
  "fonts-noto-extra",
  "fonts-roboto-unhinted",
  "fonts-droid-fallback",
  "shared-mime-info",
  "debconf",
  "dpkg",
  "tar",
  // Tools for the headers of libraries, which run on this machine instead of the image.
  "libglib2.0-dev-bin",
  "python3-distutils",
  "pkgconf",
  "pkgconf-bin",
  "libpkgconf3",
];

/** Libraries of the addons, whose names are hidden inside the binary. */
export const addonLibraries: readonly string[] = ["libudev.so.1", "libusb-1.0.so.0", "libstdc++.so.6"];
