################################################################################
#
# libretro-nestopia
#
################################################################################

LIBRETRO_NESTOPIA_VERSION = 1.53.0+20250119.git5b56b6b
LIBRETRO_NESTOPIA_SOURCE = libretro-nestopia_$(LIBRETRO_NESTOPIA_VERSION).orig.tar.xz
LIBRETRO_NESTOPIA_SITE = $(LIBRETRO_CORE_DEBIAN)/main/libr/libretro-nestopia
LIBRETRO_NESTOPIA_LICENSE = GPL-2.0+
LIBRETRO_NESTOPIA_LICENSE_FILES = COPYING
LIBRETRO_NESTOPIA_MAKE_DIR = libretro
LIBRETRO_NESTOPIA_OUTPUT = libretro/nestopia_libretro.so

$(eval $(libretro-core))
$(eval $(generic-package))
