#!/bin/sh
# post-build.sh TARGET_DIR [BOARD]: makes the files that the overlay cannot hold, because git keeps neither empty folders
# nor all modes. Buildroot calls it after the overlay, and so does the stand-in image of tools/image.
set -eu

target=$1
here=$(dirname "$0")
profiles="$target/usr/share/libretro/autoconfig/sdl2"
# shellcheck source=buildroot/board/common/meta
. "$here/meta"

for folder in proc sys dev run tmp var data boot root mnt media; do
  # A whole file system in memory replaces the links of the skeleton below /var.
  if [ -L "$target/$folder" ]; then rm "$target/$folder"; fi
  mkdir -p "$target/$folder"
done
rm -rf "$target/root/.ssh"
ln -s ../run/ssh "$target/root/.ssh" # The key comes from tapdeck.conf.
chmod 0600 "$target/etc/shadow"
chmod 0700 "$target/root"
# An update names its board. Buildroot passes the name by BR2_ROOTFS_POST_SCRIPT_ARGS.
sed -i "s/@BOARD@/${2:-unknown}/" "$target/etc/rauc/system.conf"
mkdir -p "$target/etc/tapdeck" "$profiles"
printf '%s\n' "${2:-unknown}" >"$target/etc/tapdeck/board"
printf 'Tapdeck %s\n' "$TAPDECK_VERSION" >"$target/etc/tapdeck-release"
# One profile for each line of `controllers`, in the layout of RetroArch's own profiles.
while read -r vendor product name; do
  case $vendor in "" | \#*) continue ;; esac
  {
    printf 'input_device = "%s"\n' "$name"
    printf 'input_vendor_id = "%d"\ninput_product_id = "%d"\n' "0x$vendor" "0x$product"
    cat "$here/controller-buttons.cfg"
  } >"$profiles/tapdeck-$vendor-$product.cfg"
done <"$here/controllers"
# A wrapper without its player is removed, because the service would take it for the player.
for wrapper in "$target"/usr/lib/tapdeck/players/*; do
  [ -e "$target/usr/bin/${wrapper##*/}" ] || rm -f "$wrapper"
done
# Packages bring start scripts of their own, such as that of crond. Only those of the overlay start.
for script in "$target"/etc/init.d/*; do
  [ -e "$here/../../../overlay/etc/init.d/${script##*/}" ] || rm -f "$script"
done
# The only D-Bus daemon serves Bluetooth, and Avahi would not start without one for itself.
if [ -e "$target/etc/avahi/avahi-daemon.conf" ]; then
  sed -i 's/^#*enable-dbus=.*/enable-dbus=no/' "$target/etc/avahi/avahi-daemon.conf"
fi
# Of BlueALSA, the image uses the program that encodes, and the plugin of its sound device.
rm -f "$target"/usr/bin/bluealsa-aplay "$target"/usr/bin/bluealsa-cli "$target"/usr/bin/a2dpconf \
  "$target"/usr/lib/alsa-lib/libasound_module_ctl_bluealsa.so "$target"/etc/alsa/conf.d/20-bluealsa.conf
# The board's clock never starts before this date.
[ -z "${SOURCE_DATE_EPOCH:-}" ] || touch -d "@$SOURCE_DATE_EPOCH" "$target/etc/tapdeck-release"
