#!/bin/sh
# The inf-gw command for a machine that runs the systemd unit: same program and config.
export INF_GW_CONFIG="${INF_GW_CONFIG:-/etc/inf-gw/config.yaml}"
exec /opt/inf-gw/inf-gw "$@"
