################################################################################
#
# libretro-core: the parts that the packages of cores share
#
################################################################################

# Debian keeps every version of its archive. The sums of the packages are those
# of its signed index, and were compared with the files.
LIBRETRO_CORE_DEBIAN = https://snapshot.debian.org/archive/debian/20250901T000000Z/pool

# Rules for a core with its own makefile, in _MAKE_DIR, which writes _OUTPUT.
# The makefiles add their own flags to those of the environment, but flags on the command line would replace their own.
# Without GIT_VERSION they would use the commit of the tree around the build.
define inner-libretro-core
define $(1)_BUILD_CMDS
	$$(TARGET_MAKE_ENV) CFLAGS="$$(TARGET_CFLAGS)" \
		CXXFLAGS="$$(TARGET_CXXFLAGS)" LDFLAGS="$$(TARGET_LDFLAGS)" \
		$$(MAKE) -C $$(@D)/$$($(1)_MAKE_DIR) platform=unix GIT_VERSION= \
		CC="$$(TARGET_CC)" CXX="$$(TARGET_CXX)" $$($(1)_MAKE_OPTS)
endef
define $(1)_INSTALL_TARGET_CMDS
	$$(INSTALL) -D -m 0644 $$(@D)/$$($(1)_OUTPUT) \
		$$(TARGET_DIR)/usr/lib/libretro/$$(notdir $$($(1)_OUTPUT))
endef
endef

libretro-core = $(call inner-libretro-core,$(call UPPERCASE,$(pkgname)))
