/** The names that Debian gives to packages of Buildroot, and the series that fits best if the wanted version is missing. */

/** Paths in the source, and the paths in the package from which they come. */
export type BinaryFiles = Readonly<Record<string, string>>;

export interface SourceChoice {
  /** Debian's source package, if its name differs. */
  readonly debian?: string;
  /** If the version that Buildroot names is missing, the version nearest to this one is used. */
  readonly aim?: string;
  /** If Buildroot names a commit, the version nearest to this one is used. */
  readonly commitAim?: string;
  /** Options of Buildroot's recipe that the configure script of the replacement refuses. */
  readonly unknownOptions?: readonly string[];
  /** The folder in Debian's archive that is the whole upstream release. */
  readonly folder?: string;
  /** Makefiles of a manual that Debian has removed. Empty files take their place. */
  readonly emptyMakefiles?: readonly string[];
  /** True if PyPI has the package, although its name does not begin with `python-`. */
  readonly pypi?: boolean;
  /** Files of Debian's binary package that replace a source. */
  readonly binaryFiles?: BinaryFiles;
  /** Lines for the configuration of Buildroot, if a replacement is used instead of a commit. */
  readonly commitConfig?: readonly string[];
  /** The program of this machine that replaces a host package without a usable source. */
  readonly program?: string;
}

/** The configuration of the kernel for the Foundation's boards, without the other machines that Debian's kernel is for. */
const fragments = [
  "board/common/linux.fragment",
  "board/raspberrypi/linux.fragment",
  "../tools/image/replaced-kernel.fragment",
];

/** The choices by the name of Buildroot's package. */
export const sourceChoices: Readonly<Record<string, SourceChoice>> = {
  // Debian removed the manual, without which bison's own build stops.
  bison: { program: "bison" },
  // Debian's source builds the fonts by FontForge, and Buildroot expects the finished ones.
  dejavu: {
    debian: "fonts-dejavu-core",
    binaryFiles: {
      ttf: "usr/share/fonts/truetype/dejavu",
      fontconfig: "etc/fonts/conf.avail",
      LICENSE: "usr/share/doc/fonts-dejavu-core/copyright",
    },
  },
  expat: { folder: "expat" },
  // Servers of Debian's packages lack each version that the index names.
  fakeroot: { program: "fakeroot" },
  // mpv 0.35 uses functions for sound channels that FFmpeg 7 no longer has.
  ffmpeg: {
    aim: "5.1",
    unknownOptions: ["--enable-libvpl", "--disable-libvpl", "--enable-libharfbuzz", "--disable-libharfbuzz"],
  },
  // Debian leaves out a file of 0.23 that its own build does not need.
  gettext: { aim: "0.21" },
  gmp: { emptyMakefiles: ["doc/Makefile.am"] },
  gnutls: { debian: "gnutls28" },
  hostapd: { debian: "wpa" },
  inih: { debian: "libinih" },
  libglib2: { debian: "glib2.0" },
  libnl: { debian: "libnl3" },
  libopenssl: { debian: "openssl" },
  libtasn1: { debian: "libtasn1-6" },
  libusb: { debian: "libusb-1.0" },
  libzlib: { debian: "zlib" },
  // The commit of the Raspberry Pi Foundation is 6.12.61 with its own drivers, and Debian has no source of it.
  linux: {
    commitAim: "6.12.61",
    // The Foundation's kernel has a configuration for its boards, and other names for their device trees.
    commitConfig: [
      "BR2_LINUX_KERNEL_USE_ARCH_DEFAULT_CONFIG=y",
      `BR2_LINUX_KERNEL_CONFIG_FRAGMENT_FILES="${fragments.map((path) => `$(BR2_EXTERNAL_TAPDECK_PATH)/${path}`).join(" ")}"`,
      'BR2_LINUX_KERNEL_INTREE_DTS_NAME="broadcom/bcm2837-rpi-zero-2-w broadcom/bcm2837-rpi-3-b broadcom/bcm2711-rpi-4-b"',
    ],
  },
  lzo: { debian: "lzo2" },
  meson: { pypi: true },
  mesa3d: { debian: "mesa" },
  ninja: { debian: "ninja-build" },
  // Debian's package lacks most device tree overlays.
  "rpi-firmware": {
    debian: "raspi-firmware",
    binaryFiles: { boot: "usr/lib/raspi-firmware" },
    commitConfig: ["# BR2_PACKAGE_RPI_FIRMWARE_INSTALL_DTB_OVERLAYS is not set"],
  },
  sdl2: { debian: "libsdl2" },
  squashfs: { debian: "squashfs-tools" },
  wpa_supplicant: { debian: "wpa" },
  // Servers lack the source of Debian's package. The kernel checks the signature, which is that of the upstream project.
  "wireless-regdb": {
    binaryFiles: {
      "regulatory.db": "usr/lib/firmware/regulatory.db-upstream",
      "regulatory.db.p7s": "usr/lib/firmware/regulatory.db.p7s-upstream",
      LICENSE: "usr/share/doc/wireless-regdb/copyright",
    },
  },
  "wqy-zenhei": { debian: "fonts-wqy-zenhei" },
  xz: { debian: "xz-utils" },
  zstd: { debian: "libzstd" },
};
