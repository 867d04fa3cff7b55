# The script of U-Boot on the emulated board; `mkimage` makes boot.scr of it. src/update/boot-control.ts documents its two
# files.

setenv note 0x40300000
setenv from ${devtype} ${devnum}:${distro_bootpart}

setenv kept a
setenv slot
setenv end
if load ${from} ${note} kept.env; then
  env import -t ${note} ${filesize} slot end
  if test "${end}" = yes; then setenv kept ${slot}; fi
fi

# A slot has one try, which is recorded before it starts. If the record cannot be written, the slot is not tried.
setenv next ${kept}
setenv tries
setenv slot
setenv end
if load ${from} ${note} trial.env; then
  env import -t ${note} ${filesize} tries slot end
  if test "${end}" = yes && test "${tries}" = 1; then
    mw.b 0x40300006 0x30
    fatwrite ${from} ${note} trial.env ${filesize}
    setenv tries
    mw.b ${note} 0 ${filesize}
    if load ${from} ${note} trial.env; then env import -t ${note} ${filesize} tries; fi
    if test "${tries}" = 0; then setenv next ${slot}; fi
  fi
fi

# After the wanted slot, any slot that starts is taken. A variable of the environment would hide the loop variable of
# the same name.
for start in ${next} ${kept} a b; do
  echo "Tapdeck: starting slot ${start}"
  setenv number 2
  if test ${start} = b; then setenv number 3; fi
  part uuid ${devtype} ${devnum}:${number} root
  setenv bootargs "root=PARTUUID=${root} ro console=ttyAMA0 tapdeck.shell=ttyS0 vt.global_cursor_default=0 tapdeck.slot=${start}"
  if load ${from} ${kernel_addr_r} slot-${start}/Image; then
    # Buildroot's kernel has the drivers of the disk built in. Debian's, on the stand-in image, has them in an initrd.
    setenv ramdisk -
    if load ${from} ${ramdisk_addr_r} slot-${start}/initrd; then setenv ramdisk ${ramdisk_addr_r}:${filesize}; fi
    booti ${kernel_addr_r} ${ramdisk} ${fdtcontroladdr}
  fi
done
sleep 5
reset
