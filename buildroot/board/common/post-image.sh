#!/bin/sh
# post-image.sh BINARIES_DIR BOARD: makes the card from Buildroot's output. The FAT has the firmware, tapdeck.conf and, in slot-a/,
# the kernel of slot A. genimage.cfg joins it with the slots and the data partition.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# genimage also reads these values.
set -a
# shellcheck source=buildroot/board/common/meta
. "$here/meta"
set +a
# genimage checks the data file system after making it, and e2fsck takes the time from this variable (e2fsck/e2fsck.c of
# e2fsprogs).
[ -z "${SOURCE_DATE_EPOCH:-}" ] || export E2FSCK_TIME="$SOURCE_DATE_EPOCH"
images=$1
board=$2
boot="$images/boot"
slot="$boot/slot-a"

rm -rf "$boot" "$images/genimage.tmp"
mkdir -p "$slot"
cp -R "$here/boot/." "$boot"
cp "$images/Image" "$slot"
if [ "$board" = qemu ]; then
  mkimage -q -A arm64 -O linux -T script -C none -n Tapdeck -d "$here/../qemu/boot.cmd" "$boot/boot.scr"
  printf "slot=a\nend=yes\n" >"$boot/kept.env"
else
  cp -R "$images/rpi-firmware/." "$boot"
  # The firmware looks for cmdline.txt and the overlays below os_prefix, and each slot has its own.
  rm -f "$boot/cmdline.txt"
  # The firmware in Debian's package has few overlays.
  if [ -d "$boot/overlays" ]; then mv "$boot/overlays" "$slot"; fi
  cp "$images"/*.dtb "$slot"
  for name in a b; do
    partition=02
    if [ "$name" = b ]; then partition=03; fi
    sed -e "s/@ROOT@/$TAPDECK_DISK_ID-$partition/" -e "s/@SLOT@/$name/" "$here/../raspberrypi/cmdline.txt" >"$slot/cmdline-$name.txt"
  done
fi
"$here/slot-manifest" "$board" "$images/rootfs.squashfs" "$slot" >"$slot/manifest.json"
ln -sf rootfs.squashfs "$images/root.squashfs"
genimage --rootpath "$boot" --tmppath "$images/genimage.tmp" --inputpath "$images" --outputpath "$images" \
  --config "$here/genimage.cfg"
