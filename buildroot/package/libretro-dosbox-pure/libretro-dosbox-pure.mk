################################################################################
#
# libretro-dosbox-pure
#
################################################################################

LIBRETRO_DOSBOX_PURE_VERSION = a4a0bab7f8931433588f2fcad9045c85b277373d
LIBRETRO_DOSBOX_PURE_SITE = https://github.com/schellingb/dosbox-pure.git
LIBRETRO_DOSBOX_PURE_SITE_METHOD = git
LIBRETRO_DOSBOX_PURE_LICENSE = GPL-2.0+
LIBRETRO_DOSBOX_PURE_LICENSE_FILES = LICENSE
# Its makefile would strip with the program of the build machine. Buildroot strips every file of the target.
LIBRETRO_DOSBOX_PURE_MAKE_OPTS = STRIPCMD=true
LIBRETRO_DOSBOX_PURE_OUTPUT = dosbox_pure_libretro.so

$(eval $(libretro-core))
$(eval $(generic-package))
