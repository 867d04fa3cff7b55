################################################################################
#
# libretro-bsnes-mercury
#
################################################################################

LIBRETRO_BSNES_MERCURY_VERSION = 094+git20220807
LIBRETRO_BSNES_MERCURY_SOURCE = libretro-bsnes-mercury_$(LIBRETRO_BSNES_MERCURY_VERSION).orig.tar.xz
LIBRETRO_BSNES_MERCURY_SITE = $(LIBRETRO_CORE_DEBIAN)/main/libr/libretro-bsnes-mercury
LIBRETRO_BSNES_MERCURY_LICENSE = GPL-3.0
LIBRETRO_BSNES_MERCURY_LICENSE_FILES = LICENSE
LIBRETRO_BSNES_MERCURY_MAKE_OPTS = PROFILE=performance
LIBRETRO_BSNES_MERCURY_OUTPUT = bsnes_mercury_performance_libretro.so

$(eval $(libretro-core))
$(eval $(generic-package))
