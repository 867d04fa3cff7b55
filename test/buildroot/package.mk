# The part of Buildroot that a package's install steps need: `make --file package.mk MK=... NAME=TAPDECK SOURCE=...
# SOURCE/.stamp_installed`.
INSTALL = install
qstrip = $(strip $(subst ",,$(1)))
UPPERCASE = $(NAME)
generic-package =
include $(dir $(lastword $(MAKEFILE_LIST)))../../buildroot/libretro-core.mk
include $(MK)
# The steps get the folder of the package's copy from the path of their target.
$(SOURCE)/.stamp_built:
	$($(NAME)_BUILD_CMDS)
$(SOURCE)/.stamp_installed: $(SOURCE)/.stamp_built
	$($(NAME)_INSTALL_TARGET_CMDS)
	$($(NAME)_INSTALL_INIT_SYSV)
