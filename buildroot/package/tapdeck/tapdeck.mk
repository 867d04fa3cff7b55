################################################################################
#
# tapdeck
#
################################################################################

TAPDECK_VERSION = 0.1.0
# Buildroot requires a site for every package, selected or not.
TAPDECK_SITE = $(or $(call qstrip,$(BR2_PACKAGE_TAPDECK_DIST)),$(BR2_EXTERNAL_TAPDECK_PATH)/../dist/buildroot)
TAPDECK_SITE_METHOD = local
# The renderer of the screen has its sources at https://github.com/yisibl/resvg-js.
TAPDECK_LICENSE = MIT, MPL-2.0 (renderer), Bitstream-Vera (font)
TAPDECK_LICENSE_FILES = LICENSE LICENSE.font
TAPDECK_DEPENDENCIES = libusb $(if $(BR2_PACKAGE_HAS_UDEV),udev,tapdeck-libudev)
TAPDECK_PROGRAM = tapdeck-linux-$(if $(BR2_aarch64),arm64,x64)

# Checks the copy: a truncated binary would start as the plain Bun runtime.
define TAPDECK_BUILD_CMDS
	cd $(@D) && sha256sum --check --ignore-missing --strict SHA256SUMS
endef

# A stripped binary loses its code, so BR2_STRIP_EXCLUDE_FILES must name it. post-build checks its sum.
define TAPDECK_INSTALL_TARGET_CMDS
	$(INSTALL) -D -m 0755 $(@D)/$(TAPDECK_PROGRAM) \
		$(TARGET_DIR)/usr/bin/tapdeck
	$(if $(BR2_PACKAGE_HAS_UDEV),$(INSTALL) -D -m 0644 $(@D)/70-tapdeck.rules \
		$(TARGET_DIR)/usr/lib/udev/rules.d/70-tapdeck.rules)
	$(INSTALL) -D -m 0644 $(@D)/modprobe.conf \
		$(TARGET_DIR)/etc/modprobe.d/tapdeck.conf
endef

define TAPDECK_INSTALL_INIT_SYSV
	$(INSTALL) -D -m 0755 $(@D)/S90tapdeck \
		$(TARGET_DIR)/etc/init.d/S90tapdeck
endef

# The user has the groups of serial lines, USB readers, keyboards, sound and pictures.
define TAPDECK_USERS
	tapdeck -1 tapdeck -1 * /data/tapdeck - dialout,input,audio,video,plugdev Tapdeck
endef

define TAPDECK_LINUX_CONFIG_FIXUPS
	$(call KCONFIG_ENABLE_OPT,CONFIG_HIDRAW)
	$(call KCONFIG_SET_OPT,CONFIG_INPUT_UINPUT,m)
	$(call KCONFIG_SET_OPT,CONFIG_USB_SERIAL_FTDI_SIO,m)
	$(call KCONFIG_SET_OPT,CONFIG_USB_SERIAL_CH341,m)
	$(call KCONFIG_SET_OPT,CONFIG_USB_SERIAL_CP210X,m)
	$(call KCONFIG_SET_OPT,CONFIG_USB_SERIAL_PL2303,m)
	$(call KCONFIG_SET_OPT,CONFIG_USB_ACM,m)
endef

$(eval $(generic-package))
