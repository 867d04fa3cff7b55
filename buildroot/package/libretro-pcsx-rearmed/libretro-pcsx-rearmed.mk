################################################################################
#
# libretro-pcsx-rearmed
#
################################################################################

LIBRETRO_PCSX_REARMED_VERSION = da2cb8ecd17fd0932ab6d94774c0522beebce6e3
LIBRETRO_PCSX_REARMED_SITE = https://github.com/libretro/pcsx_rearmed.git
LIBRETRO_PCSX_REARMED_SITE_METHOD = git
LIBRETRO_PCSX_REARMED_LICENSE = GPL-2.0+
LIBRETRO_PCSX_REARMED_LICENSE_FILES = COPYING
LIBRETRO_PCSX_REARMED_MAKE_OPTS = -f Makefile.libretro
LIBRETRO_PCSX_REARMED_OUTPUT = pcsx_rearmed_libretro.so

$(eval $(libretro-core))
$(eval $(generic-package))
