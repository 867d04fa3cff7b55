include $(sort $(wildcard $(BR2_EXTERNAL_TAPDECK_PATH)/package/*/*.mk))
