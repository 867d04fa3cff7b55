################################################################################
#
# libretro-snes9x
#
################################################################################

LIBRETRO_SNES9X_VERSION = 1.61+dfsg
LIBRETRO_SNES9X_SOURCE = libretro-snes9x_$(LIBRETRO_SNES9X_VERSION).orig.tar.xz
LIBRETRO_SNES9X_SITE = $(LIBRETRO_CORE_DEBIAN)/non-free/libr/libretro-snes9x
LIBRETRO_SNES9X_LICENSE = Snes9x non-commercial
LIBRETRO_SNES9X_LICENSE_FILES = LICENSE
LIBRETRO_SNES9X_MAKE_DIR = libretro
LIBRETRO_SNES9X_OUTPUT = libretro/snes9x_libretro.so

$(eval $(libretro-core))
$(eval $(generic-package))
