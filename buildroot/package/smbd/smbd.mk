################################################################################
#
# smbd: Samba's file server, without the rest of Samba
#
################################################################################

# The version of Debian 13, which Debian's security team maintains.
SMBD_VERSION = 4.22.11+dfsg
SMBD_SOURCE = samba_$(SMBD_VERSION).orig.tar.xz
SMBD_SITE = $(SMBD_DEBIAN)/main/s/samba
SMBD_DEBIAN = https://snapshot.debian.org/archive/debian/20260901T000000Z/pool
SMBD_LICENSE = GPL-3.0+
SMBD_LICENSE_FILES = COPYING
SMBD_CPE_ID_VENDOR = samba
SMBD_CPE_ID_PRODUCT = samba
SMBD_CPE_ID_VERSION = 4.22.11
SMBD_DEPENDENCIES = \
	host-pkgconf \
	host-python3 \
	gnutls \
	libkrb5 \
	popt \
	zlib \
	$(if $(BR2_PACKAGE_LIBXCRYPT),libxcrypt)

# pidl, which writes the code of RPC, needs this module of Perl.
SMBD_YAPP = libparse-yapp-perl_1.21.orig.tar.gz
SMBD_EXTRA_DOWNLOADS = $(SMBD_DEBIAN)/main/libp/libparse-yapp-perl/$(SMBD_YAPP)

define SMBD_EXTRACT_YAPP
	mkdir -p $(@D)/yapp
	$(call suitable-extractor,$(SMBD_YAPP)) $(SMBD_DL_DIR)/$(SMBD_YAPP) | \
		$(TAR) --strip-components=1 -C $(@D)/yapp $(TAR_OPTIONS) -
endef
SMBD_POST_EXTRACT_HOOKS += SMBD_EXTRACT_YAPP

# The script of waf imports Python's ssl, and uses it only for a part in Rust.
# The Python of Buildroot may have no ssl.
define SMBD_LEAVE_OUT_SSL
	$(SED) '/^import ssl$$/d' $(@D)/wscript
endef
SMBD_POST_PATCH_HOOKS += SMBD_LEAVE_OUT_SSL

# Without an installation by waf, the programs look for each other in the folder
# of the build.
define SMBD_USE_INSTALLED_PATHS
	$(SED) 's/not bld\.is_install/False/' $(@D)/dynconfig/wscript
endef
SMBD_POST_PATCH_HOOKS += SMBD_USE_INSTALLED_PATHS

# configure cannot run programs of the board. Buildroot keeps the answers for
# its own package of Samba.
define SMBD_WRITE_ANSWERS
	cp package/samba4/samba4-cache.txt $(@D)/answers.txt
	printf '%s\n' 'Checking uname machine type: $(BR2_ARCH)' \
		'Checking whether the WRFILE -keytab is supported: NO' \
		'Checking whether fcntl supports setting/getting hints: OK' \
		>>$(@D)/answers.txt
endef
SMBD_PRE_CONFIGURE_HOOKS += SMBD_WRITE_ANSWERS

SMBD_ENV = \
	$(TARGET_MAKE_ENV) \
	PERL5LIB="$(@D)/yapp/lib" \
	YAPP="$(@D)/yapp/yapp" \
	KRB5_CONFIG="$(STAGING_DIR)/usr/bin/krb5-config" \
	PYTHON="$(HOST_DIR)/bin/python3" \
	PYTHONHASHSEED=1 \
	WAF_NO_PREFORK=1

# PCs list the shares of a server by RPC, which three small programs answer.
# There is no domain, no printer, no cluster, and no SMB1.
SMBD_RPC_PROGRAMS = samba-dcerpcd rpcd_classic rpcd_winreg

define SMBD_CONFIGURE_CMDS
	cd $(@D) && $(SMBD_ENV) $(TARGET_CONFIGURE_OPTS) XSLTPROC=false \
		CFLAGS="$(TARGET_CFLAGS)" LDFLAGS="$(TARGET_LDFLAGS)" \
		./buildtools/bin/waf configure \
		--cross-compile --cross-answers=$(@D)/answers.txt \
		--prefix=/usr --sysconfdir=/etc --localstatedir=/var --enable-fhs \
		--with-libiconv=$(STAGING_DIR)/usr \
		--bundled-libraries=ALL,!popt,!zlib \
		--with-shared-modules='!vfs_snapper' \
		--disable-avahi --disable-cups --disable-fault-handling \
		--disable-glusterfs --disable-iprint --disable-python \
		--disable-rpath --disable-rpath-install \
		--with-system-mitkrb5 \
		--without-acl-support --without-ad-dc --without-ads \
		--without-automount --without-gettext --without-gpgme \
		--without-json --without-ldap --without-ldb-lmdb \
		--without-libarchive --without-pam --without-quotas \
		--without-regedit --without-smb1-server --without-syslog \
		--without-utmp --without-winbind
endef

SMBD_WAF_OPTS = \
	$(if $(PARALLEL_JOBS),-j$(PARALLEL_JOBS)) \
	--targets=$(subst $(space),$(comma),smbd/smbd $(SMBD_RPC_PROGRAMS))

define SMBD_BUILD_CMDS
	cd $(@D) && $(SMBD_ENV) ./buildtools/bin/waf build $(SMBD_WAF_OPTS)
endef

# The server needs only the libraries of Kerberos. A home has no realm.
define SMBD_REMOVE_KERBEROS
	rm -rf $(addprefix $(TARGET_DIR)/usr/sbin/,gss-server kadmin.local kadmind kdb5_util kprop \
		kpropd kproplog krb5-send-pr krb5kdc sim_server sserver uuserver) \
		$(addprefix $(TARGET_DIR)/usr/bin/,compile_et gss-client k5srvutil kadmin kdestroy kinit \
		klist kpasswd krb5-config ksu kswitch ktutil kvno sclient sim_client uuclient) \
		$(TARGET_DIR)/usr/lib/krb5 $(TARGET_DIR)/var/krb5kdc
endef
SMBD_TARGET_FINALIZE_HOOKS += SMBD_REMOVE_KERBEROS

# With `--targets`, waf installs only headers. The build makes no libraries but
# those of these programs. They have no RPATH, so they go beside the others.
define SMBD_INSTALL_TARGET_CMDS
	$(INSTALL) -D -m 0755 $(@D)/bin/default/source3/smbd/smbd \
		$(TARGET_DIR)/usr/sbin/smbd
	mkdir -p $(TARGET_DIR)/usr/libexec/samba
	cp $(addprefix $(@D)/bin/default/source3/rpc_server/,$(SMBD_RPC_PROGRAMS)) \
		$(TARGET_DIR)/usr/libexec/samba
	cp -L $(@D)/bin/shared/*.so.* $(@D)/bin/shared/private/*.so \
		$(TARGET_DIR)/usr/lib
endef

$(eval $(generic-package))
