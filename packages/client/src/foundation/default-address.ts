import { assertTrustedAddress, defaultSocketAddress, type SocketAddress } from '@spock/protocol/node';

/**
 * Where the sidecar is when the caller does not say. The one place of this package that looks at the process: the app and
 * its sidecar must find each other by SPOCK_SOCKET, or by the same rule without it (see `defaultSocketAddress`).
 */
export function defaultAddress(): SocketAddress {
	return defaultSocketAddress({ env: process.env, uid: process.getuid?.() });
}

/** Throws if what is at the default address may be another user's. */
export function assertTrusted(address: SocketAddress): void {
	assertTrustedAddress(address, process.getuid?.());
}
