################################################################################
#
# libretro-smsplus-gx
#
################################################################################

LIBRETRO_SMSPLUS_GX_VERSION = 6dc7119f6f8d7f6437320405ee3b0de5f227913f
LIBRETRO_SMSPLUS_GX_SITE = https://github.com/libretro/smsplus-gx.git
LIBRETRO_SMSPLUS_GX_SITE_METHOD = git
LIBRETRO_SMSPLUS_GX_LICENSE = GPL-2.0+
LIBRETRO_SMSPLUS_GX_LICENSE_FILES = docs/license
LIBRETRO_SMSPLUS_GX_MAKE_OPTS = -f Makefile.libretro
LIBRETRO_SMSPLUS_GX_OUTPUT = smsplus_libretro.so

$(eval $(libretro-core))
$(eval $(generic-package))
