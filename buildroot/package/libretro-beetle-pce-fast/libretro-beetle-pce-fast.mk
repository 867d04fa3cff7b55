################################################################################
#
# libretro-beetle-pce-fast
#
################################################################################

LIBRETRO_BEETLE_PCE_FAST_VERSION = 0.9.38.7+git20160609
LIBRETRO_BEETLE_PCE_FAST_SOURCE = libretro-beetle-pce-fast_$(LIBRETRO_BEETLE_PCE_FAST_VERSION).orig.tar.gz
LIBRETRO_BEETLE_PCE_FAST_SITE = $(LIBRETRO_CORE_DEBIAN)/main/libr/libretro-beetle-pce-fast
# The archive has no top folder.
LIBRETRO_BEETLE_PCE_FAST_STRIP_COMPONENTS = 0
LIBRETRO_BEETLE_PCE_FAST_LICENSE = GPL-2.0+
LIBRETRO_BEETLE_PCE_FAST_LICENSE_FILES = mednafen/general.cpp
LIBRETRO_BEETLE_PCE_FAST_OUTPUT = mednafen_pce_fast_libretro.so

$(eval $(libretro-core))
$(eval $(generic-package))
