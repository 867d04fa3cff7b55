include $(BR2_EXTERNAL_TAPDECK_PATH)/libretro-core.mk
include $(sort $(wildcard $(BR2_EXTERNAL_TAPDECK_PATH)/package/*/*.mk))
