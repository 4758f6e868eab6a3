#!/usr/bin/env bash
# Runs a command on a machine of its own, which ends with it: network, mounts, processes and host name are its own, and so
# are /run, /opt, /var/lib and /var/log. Nothing that runs in there can outlive it, and no mount of it is seen outside.
#   machine.sh COMMAND [ARGUMENT…]
# Its address is in SPOCK_MACHINE_ADDRESS, the group of processes (cgroup) that it may use in SPOCK_MACHINE_CGROUP.
set -euo pipefail

name=spock-node
address=10.91.0.1

if [ "${1:-}" != --inside ]; then
	[ "$(id -u)" = 0 ] || { echo "machine.sh: only root can make such a machine" >&2; exit 2; }
	cgroup=/spock-machine-$$
	# Groups of processes are the kernel's own and belong to no namespace: what is left of them is taken away here, at the end
	# of the machine and of all processes in it. A group may be gone only a moment after its last process.
	tidy() {
		local attempt place
		for attempt in {1..50}; do
			for place in /sys/fs/cgroup"$1" /sys/fs/cgroup/*"$1"; do
				[ ! -d "$place" ] || find "$place" -depth -type d -exec rmdir {} + 2>/dev/null || true
			done
			compgen -G "/sys/fs/cgroup$1" >/dev/null || compgen -G "/sys/fs/cgroup/*$1" >/dev/null || return 0
			sleep 0.1
		done
		echo "machine.sh: groups of processes are left over: /sys/fs/cgroup/*$1" >&2
		return 1
	}
	# Of a machine whose shell was killed by SIGKILL, if its processes have ended since.
	for place in /sys/fs/cgroup/spock-machine-* /sys/fs/cgroup/*/spock-machine-*; do
		[ -d "$place" ] && [ ! -d "/proc/${place##*-}" ] && [ -z "$(find "$place" -name cgroup.procs -exec cat {} +)" ] || continue
		tidy "/${place##*/}"
	done
	trap 'tidy "$cgroup"' EXIT
	# One in each hierarchy (version 1), or the only one (version 2). A new one of version 1 may use no processor until it is told which.
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		mkdir "/sys/fs/cgroup$cgroup"
	else
		for place in /sys/fs/cgroup/*/; do
			place=${place%/}
			[ -L "$place" ] || [ ! -e "$place/cgroup.procs" ] || mkdir "$place$cgroup"
		done
		for file in cpuset.cpus cpuset.mems; do
			[ ! -e "/sys/fs/cgroup/cpuset/$file" ] || cat "/sys/fs/cgroup/cpuset/$file" >"/sys/fs/cgroup/cpuset$cgroup/$file"
		done
	fi
	export SPOCK_MACHINE_CGROUP=$cgroup SPOCK_MACHINE_ADDRESS=$address
	unshare --net --mount --pid --uts --ipc --fork --kill-child --mount-proc --propagation private "${BASH_SOURCE[0]}" --inside "$@" &
	machine=$!
	# All at once: process 1 of the machine dies with unshare, and with it every other one in there.
	trap 'kill -KILL $machine' TERM INT HUP
	wait $machine
	exit
fi
shift

hostname "$name"
# Pairs of interfaces cost nothing, and a machine that has an address and a default route looks like one to everybody.
ip link set lo up
ip link add eth0 type veth peer name wire
ip address add "$address/24" dev eth0
ip link set eth0 up
ip link set wire up
ip route add default via "${address%.*}.254"
for directory in /run /opt /var/lib /var/log; do mount -t tmpfs tmpfs "$directory"; done
mkdir -p /run/etc /run/lock
printf '127.0.0.1 localhost\n%s %s\n' "$address" "$name" >/run/etc/hosts
: >/run/etc/resolv.conf
mount --bind /run/etc/hosts /etc/hosts
mount --bind /run/etc/resolv.conf /etc/resolv.conf
# Volumes that are mounted later must be seen by containers that run.
mount --make-rshared /

# As a child: this shell is process 1 in here, and takes in what containers leave behind.
"$@" &
wait $!
