################################################################################
#
# libretro-mgba
#
################################################################################

LIBRETRO_MGBA_VERSION = 0.10.5+dfsg
LIBRETRO_MGBA_SOURCE = mgba_$(LIBRETRO_MGBA_VERSION).orig.tar.xz
LIBRETRO_MGBA_SITE = $(LIBRETRO_CORE_DEBIAN)/main/m/mgba
LIBRETRO_MGBA_LICENSE = MPL-2.0
LIBRETRO_MGBA_LICENSE_FILES = LICENSE
LIBRETRO_MGBA_DEPENDENCIES = inih

# The core alone, without mGBA's programs and their libraries.
LIBRETRO_MGBA_CONF_OPTS = \
	-DBUILD_LIBRETRO=ON \
	-DCMAKE_C_STANDARD_LIBRARIES=-linih \
	$(foreach what,BUILD_GL BUILD_GLES2 BUILD_GLES3 BUILD_QT BUILD_SDL \
		ENABLE_SCRIPTING USE_DEBUGGERS USE_DISCORD_RPC USE_EDITLINE USE_ELF \
		USE_EPOXY USE_FFMPEG USE_GDB_STUB USE_LIBZIP USE_LUA USE_LZMA \
		USE_MINIZIP USE_PNG USE_SQLITE3 USE_ZLIB,-D$(what)=OFF)
LIBRETRO_MGBA_BUILD_OPTS = --target mgba_libretro

# Debian's archive lacks mGBA's copy of inih.
define LIBRETRO_MGBA_USE_INIH
	mkdir -p $(@D)/src/third-party/inih
	echo '#include <ini.h>' >$(@D)/src/third-party/inih/ini.h
endef
LIBRETRO_MGBA_PRE_CONFIGURE_HOOKS += LIBRETRO_MGBA_USE_INIH

define LIBRETRO_MGBA_INSTALL_TARGET_CMDS
	$(INSTALL) -D -m 0644 $(@D)/mgba_libretro.so \
		$(TARGET_DIR)/usr/lib/libretro/mgba_libretro.so
endef

$(eval $(cmake-package))
