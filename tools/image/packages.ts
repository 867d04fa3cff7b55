/** Debian's packages that the stand-in image and the virtual machines of the tests are made of. */
export const packages: readonly string[] = [
  "busybox-static",
  "libc6",
  "libgcc-s1",
  "libstdc++6",
  // sfdisk and partx grow the partition, e2fsprogs its file system.
  "fdisk",
  "util-linux",
  "libfdisk1",
  "libsmartcols1",
  "libblkid1",
  "libuuid1",
  "libreadline8",
  "libtinfo6",
  "e2fsprogs",
  "libext2fs2",
  "libss2",
  "libcom-err2",
  // SSH and SFTP.
  "dropbear-bin",
  "openssh-sftp-server",
  "libtomcrypt1",
  "libtommath1",
  "libgmp10",
  "libcrypt1",
  "zlib1g",
  // The addon for HID readers.
  "libudev1",
  "libusb-1.0-0",
];

/** Named by addons, which are inside the binary, where nobody sees their names. */
export const addonLibraries: readonly string[] = ["libudev.so.1", "libusb-1.0.so.0", "libstdc++.so.6"];
