################################################################################
#
# libretro-gambatte
#
################################################################################

LIBRETRO_GAMBATTE_VERSION = 0.5.0+git20160522+dfsg1
LIBRETRO_GAMBATTE_SOURCE = libretro-gambatte_$(LIBRETRO_GAMBATTE_VERSION).orig.tar.gz
LIBRETRO_GAMBATTE_SITE = $(LIBRETRO_CORE_DEBIAN)/main/libr/libretro-gambatte
# The archive has no top folder.
LIBRETRO_GAMBATTE_STRIP_COMPONENTS = 0
LIBRETRO_GAMBATTE_LICENSE = GPL-2.0
LIBRETRO_GAMBATTE_LICENSE_FILES = COPYING
LIBRETRO_GAMBATTE_MAKE_DIR = libgambatte
LIBRETRO_GAMBATTE_MAKE_OPTS = --file=Makefile.libretro
LIBRETRO_GAMBATTE_OUTPUT = libgambatte/gambatte_libretro.so

$(eval $(libretro-core))
$(eval $(generic-package))
