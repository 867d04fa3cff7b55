################################################################################
#
# tapdeck-libudev
#
################################################################################

TAPDECK_LIBUDEV_VERSION = 1.0.5
TAPDECK_LIBUDEV_SOURCE = libudev-zero-$(TAPDECK_LIBUDEV_VERSION).tar.gz
TAPDECK_LIBUDEV_SITE = $(call github,illiliti,libudev-zero,$(TAPDECK_LIBUDEV_VERSION))
TAPDECK_LIBUDEV_LICENSE = ISC
TAPDECK_LIBUDEV_LICENSE_FILES = LICENSE
TAPDECK_LIBUDEV_INSTALL_STAGING = YES
TAPDECK_LIBUDEV_MAKE = $(TARGET_MAKE_ENV) $(MAKE) -C $(@D) $(TARGET_CONFIGURE_OPTS) PREFIX=/usr

define TAPDECK_LIBUDEV_BUILD_CMDS
	$(TAPDECK_LIBUDEV_MAKE)
endef

# RetroArch is compiled against the headers in the staging folder.
define TAPDECK_LIBUDEV_INSTALL_STAGING_CMDS
	$(TAPDECK_LIBUDEV_MAKE) DESTDIR=$(STAGING_DIR) install
endef

define TAPDECK_LIBUDEV_INSTALL_TARGET_CMDS
	$(TAPDECK_LIBUDEV_MAKE) DESTDIR=$(TARGET_DIR) install
endef

$(eval $(generic-package))
