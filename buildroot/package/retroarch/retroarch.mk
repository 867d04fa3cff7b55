################################################################################
#
# retroarch
#
################################################################################

RETROARCH_VERSION = 1.20.0+dfsg
RETROARCH_SOURCE = retroarch_$(RETROARCH_VERSION).orig.tar.xz
RETROARCH_SITE = $(LIBRETRO_CORE_DEBIAN)/main/r/retroarch
RETROARCH_LICENSE = GPL-3.0+
RETROARCH_LICENSE_FILES = COPYING
RETROARCH_DEPENDENCIES = \
	host-pkgconf \
	alsa-lib \
	libdrm \
	libegl \
	libgbm \
	libgles \
	sdl2 \
	zlib \
	$(if $(BR2_PACKAGE_HAS_UDEV),udev,tapdeck-libudev)

# The picture goes to KMS by EGL and OpenGL ES, and the sound to ALSA. SDL2 reads
# controllers, and udev reads keyboards. The service writes commands to the
# standard input; configure enables that by itself.
RETROARCH_CONF_OPTS = \
	--enable-alsa \
	--enable-dylib \
	--enable-egl \
	--enable-kms \
	--enable-networking \
	--enable-opengles \
	--enable-rgui \
	--enable-sdl2 \
	--enable-threads \
	--enable-udev \
	--enable-zlib

# Some of these need bundled libraries that Debian's archive lacks. The others
# are for desktops, or download from the network.
RETROARCH_CONF_OPTS += \
	$(addprefix --disable-,accessibility blissbox bluetooth builtinflac \
		builtinglslang builtinzlib caca cdrom cg chd cheevos discord ffmpeg \
		flac freetype glslang jack libusb materialui microphone networkgamepad \
		online_updater opengl opengl1 opengl_core oss ozone parport pipewire \
		pulse qt roar rsound sixel slang spirv_cross ssa ssl stb_font \
		stb_image stb_vorbis systemd tinyalsa translate v4l2 vg \
		videocore videoprocessor vulkan wayland x11 xdelta xmb)

define RETROARCH_CONFIGURE_CMDS
	cd $(@D) && $(TARGET_CONFIGURE_ARGS) $(TARGET_CONFIGURE_OPTS) \
		CFLAGS="$(TARGET_CFLAGS) -DEGL_NO_X11" \
		CROSS_COMPILE="$(TARGET_CROSS)" PKG_CONF_PATH="$(PKG_CONFIG_HOST_BINARY)" \
		./configure --host="$(GNU_TARGET_NAME)" --prefix=/usr $(RETROARCH_CONF_OPTS)
endef

# The makefile asks git for a version, and would get that of the tree around it.
define RETROARCH_BUILD_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) -C $(@D) GIT_VERSION=
endef

# Only the program is installed, without the pictures of its menu.
define RETROARCH_INSTALL_TARGET_CMDS
	$(INSTALL) -D -m 0755 $(@D)/retroarch $(TARGET_DIR)/usr/bin/retroarch
endef

$(eval $(generic-package))
