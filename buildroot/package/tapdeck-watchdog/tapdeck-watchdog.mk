################################################################################
#
# tapdeck-watchdog
#
################################################################################

TAPDECK_WATCHDOG_VERSION = 0.1.0
TAPDECK_WATCHDOG_SITE = $(BR2_EXTERNAL_TAPDECK_PATH)/../watchdog
TAPDECK_WATCHDOG_SITE_METHOD = local
TAPDECK_WATCHDOG_LICENSE = MIT
TAPDECK_WATCHDOG_LICENSE_FILES = LICENSE

define TAPDECK_WATCHDOG_BUILD_CMDS
	$(TARGET_CC) $(TARGET_CFLAGS) $(TARGET_LDFLAGS) -std=c11 \
		-o $(@D)/tapdeck-watchdog $(@D)/tapdeck-watchdog.c
	$(TARGET_CC) $(TARGET_CFLAGS) $(TARGET_LDFLAGS) -std=c11 \
		-o $(@D)/tapdeck-reboot $(@D)/tapdeck-reboot.c
	$(TARGET_CC) $(TARGET_CFLAGS) $(TARGET_LDFLAGS) -std=c11 \
		-o $(@D)/tapdeck-confine $(@D)/tapdeck-confine.c
	$(TARGET_CC) $(TARGET_CFLAGS) $(TARGET_LDFLAGS) -std=c11 \
		-o $(@D)/tapdeck-share $(@D)/tapdeck-share.c
endef

define TAPDECK_WATCHDOG_INSTALL_TARGET_CMDS
	$(INSTALL) -D -m 0755 $(@D)/tapdeck-watchdog \
		$(TARGET_DIR)/usr/bin/tapdeck-watchdog
	$(INSTALL) -D -m 0755 $(@D)/tapdeck-reboot \
		$(TARGET_DIR)/usr/bin/tapdeck-reboot
	$(INSTALL) -D -m 0755 $(@D)/tapdeck-confine \
		$(TARGET_DIR)/usr/bin/tapdeck-confine
	$(INSTALL) -D -m 0755 $(@D)/tapdeck-share \
		$(TARGET_DIR)/usr/bin/tapdeck-share
endef

$(eval $(generic-package))
