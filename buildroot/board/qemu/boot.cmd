# What U-Boot does on the emulated board; `mkimage` makes boot.scr of it. src/update/uboot.ts tells the two files' format.

setenv note 0x40300000
setenv from ${devtype} ${devnum}:${distro_bootpart}

setenv kept a
setenv slot
setenv end
if load ${from} ${note} kept.env; then
  env import -t ${note} ${filesize} slot end
  if test "${end}" = yes; then setenv kept ${slot}; fi
fi

# One try, and it is written down before it is made: what cannot be written down is not tried.
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

# Behind the one that is wanted, whatever starts at all. A variable of the environment would hide the loop's of its name.
for start in ${next} ${kept} a b; do
  echo "Tapdeck: starting slot ${start}"
  setenv number 2
  if test ${start} = b; then setenv number 3; fi
  part uuid ${devtype} ${devnum}:${number} root
  setenv bootargs "root=PARTUUID=${root} ro console=ttyAMA0 tapdeck.shell=ttyS0 vt.global_cursor_default=0 tapdeck.slot=${start}"
  if load ${from} ${kernel_addr_r} slot-${start}/Image && load ${from} ${ramdisk_addr_r} slot-${start}/initrd; then
    booti ${kernel_addr_r} ${ramdisk_addr_r}:${filesize} ${fdtcontroladdr}
  fi
done
sleep 5
reset
