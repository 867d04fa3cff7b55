#!/bin/sh
# post-build.sh TARGET_DIR [BOARD]: what the overlay cannot say, since git keeps neither empty folders nor all modes. Buildroot calls
# it behind the overlay, and so does the stand-in image of tools/image.
set -eu

target=$1
# shellcheck source=buildroot/board/common/meta
. "$(dirname "$0")/meta"

for folder in proc sys dev run tmp var data boot root mnt media; do
  # Where the skeleton has links below /var, a whole file system in memory takes their place.
  if [ -L "$target/$folder" ]; then rm "$target/$folder"; fi
  mkdir -p "$target/$folder"
done
rm -rf "$target/root/.ssh"
ln -s ../run/ssh "$target/root/.ssh" # The key comes from tapdeck.conf.
chmod 0600 "$target/etc/shadow"
chmod 0700 "$target/root"
# An update says which board it is for. Buildroot hands the name over by BR2_ROOTFS_POST_SCRIPT_ARGS.
mkdir -p "$target/etc/tapdeck"
printf '%s\n' "${2:-unknown}" >"$target/etc/tapdeck/board"
printf 'Tapdeck %s\n' "$TAPDECK_VERSION" >"$target/etc/tapdeck-release"
# Where the board's clock starts from, at the latest.
[ -z "${SOURCE_DATE_EPOCH:-}" ] || touch -d "@$SOURCE_DATE_EPOCH" "$target/etc/tapdeck-release"
