# The commands of tapdeck find the service from a shell by these.
export XDG_CONFIG_HOME=/data/config XDG_DATA_HOME=/data XDG_RUNTIME_DIR=/run/tapdeck
