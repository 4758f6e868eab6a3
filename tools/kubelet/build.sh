#!/usr/bin/env bash
# Builds what `npm run suite kubelet` and `npm run suite apiserver` need of Kubernetes, once, into a cache outside the checkout:
# kubelet, kube-apiserver, kubectl and a program for pause containers from the Go module proxy, and the definitions of the
# Prometheus operator's own resources; containerd, runc, etcd and the CNI plugins unpacked from Debian's packages, which stay
# out of the system. The last line of its output is the directory. A second run finds it and builds nothing.
set -euo pipefail

version=1.34.4
operator=github.com/prometheus-operator/prometheus-operator@v0.85.0
packages=(containerd runc libseccomp2 containernetworking-plugins etcd-server)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
directory=${SPOCK_CACHE_DIR:-$HOME/.cache/spock}/kubernetes-$version

if [ -e "$directory/complete" ]; then
	echo "$directory"
	exit 0
fi
for needed in apt-get dpkg; do
	command -v "$needed" >/dev/null || { echo "build.sh: $needed is needed: containerd and etcd come from Debian's packages." >&2; exit 2; }
done
PATH=$(bash "$here/../go-toolchain.sh"):$PATH
export PATH

# In a copy, because -mod=mod may write to go.mod and go.sum, and a build must not change the checkout.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/go.mod" "$here/go.sum" "$work/"
cp -R "$here/pause" "$work/"
mkdir -p "$work/out/bin" "$work/out/crds" "$work/packages"

echo "fetching ${packages[*]}" >&2
fetch() { (cd "$work/packages" && apt-get download -q "${packages[@]}") >&2; }
fetch || { apt-get update -q >&2 && fetch; }
for package in "$work"/packages/*.deb; do dpkg -x "$package" "$work/unpacked"; done
cp "$work"/unpacked/usr/bin/{containerd,containerd-shim-runc-v2,ctr,etcd} "$work/unpacked/usr/sbin/runc" "$work/out/bin/"
mkdir "$work/out/cni" "$work/out/lib"
cp "$work"/unpacked/usr/lib/cni/{bridge,host-local,loopback} "$work/out/cni/"
find "$work/unpacked" -name 'libseccomp.so*' -exec cp -P {} "$work/out/lib/" \;

echo "building Kubernetes $version into $directory: about 7 minutes on four idle cores, once" >&2
programs=(k8s.io/kubernetes/cmd/kubelet k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kubectl)
stamp=k8s.io/component-base/version
flags="-s -w -X $stamp.gitVersion=v$version -X $stamp.gitMajor=${version%%.*} -X $stamp.gitMinor=$(cut -d. -f2 <<<"$version")"
(
	cd "$work"
	export GOFLAGS='-buildvcs=false -mod=mod'
	go build -trimpath -ldflags "$flags" -o out/bin/ "${programs[@]}"
	sources=$(go mod download -json "$operator" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	cp "$sources"/example/prometheus-operator-crd/monitoring.coreos.com_{podmonitors,prometheusrules}.yaml out/crds/
	# Of no library: it is the only file of its image.
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o out/bin/pause ./pause
) >&2

# Into place in one step: an interrupted build leaves nothing that looks whole.
touch "$work/out/complete"
mkdir -p "$(dirname "$directory")"
cp -RP "$work/out" "$directory.$$"
rm -rf "$directory"
mv "$directory.$$" "$directory"
echo "$directory"
