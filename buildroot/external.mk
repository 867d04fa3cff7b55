include $(BR2_EXTERNAL_TAPDECK_PATH)/libretro-core.mk
include $(sort $(wildcard $(BR2_EXTERNAL_TAPDECK_PATH)/package/*/*.mk))

# After an underrun on a busy board, an assertion of alsa-lib ended the player
# (snd_pcm_plugin_status). Without it the player goes on.
ALSA_LIB_CONF_OPTS += --without-debug
