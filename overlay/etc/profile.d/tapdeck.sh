# So that `tapdeck readers` and the like find the service from a shell.
export XDG_CONFIG_HOME=/data/config XDG_DATA_HOME=/data XDG_RUNTIME_DIR=/run/tapdeck
