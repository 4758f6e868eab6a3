#!/bin/sh
# A lookup from a shell: one line in, one line out. Uses socat, or nc where there is no socat.
#   lookup.sh SOCKET SERVICE
socket=${1:?usage: lookup.sh SOCKET SERVICE}
service=${2:?usage: lookup.sh SOCKET SERVICE}
request() { printf '{"id":1,"func":"getService","data":{"service":"%s"}}\n' "$service"; }

if [ "${TOOL:-}" != nc ] && command -v socat >/dev/null; then
	request | socat -t 5 - "UNIX-CONNECT:$socket"
else
	# -N ends our side after the request; the sidecar answers and then ends its own.
	request | nc -N -U "$socket"
fi
