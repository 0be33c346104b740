#!/bin/sh
# The inf-gw command for a machine that runs the systemd unit: same program and config.
export INF_GW_CONFIG="${INF_GW_CONFIG:-/etc/inf-gw/config.yaml}"
# The variables of the unit, such as the password of a database, for users who may read them.
if [ -r /etc/inf-gw/environment ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in [A-Za-z_]*=*) export "$line" ;; esac
  done < /etc/inf-gw/environment
fi
exec /opt/inf-gw/inf-gw "$@"
