################################################################################
#
# libretro-core-info
#
################################################################################

LIBRETRO_CORE_INFO_VERSION = 1.20.0
LIBRETRO_CORE_INFO_SOURCE = libretro-core-info_$(LIBRETRO_CORE_INFO_VERSION).orig.tar.gz
LIBRETRO_CORE_INFO_SITE = $(LIBRETRO_CORE_DEBIAN)/main/libr/libretro-core-info
LIBRETRO_CORE_INFO_LICENSE = MIT
LIBRETRO_CORE_INFO_LICENSE_FILES = COPYING

define LIBRETRO_CORE_INFO_INSTALL_TARGET_CMDS
	mkdir -p $(TARGET_DIR)/usr/share/libretro/info
	$(INSTALL) -m 0644 $(@D)/*.info $(TARGET_DIR)/usr/share/libretro/info
endef

$(eval $(generic-package))
