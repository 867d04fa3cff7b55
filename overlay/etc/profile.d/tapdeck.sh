# With these variables the commands of tapdeck in a shell find the service.
export XDG_CONFIG_HOME=/data/config XDG_DATA_HOME=/data XDG_RUNTIME_DIR=/run/tapdeck
