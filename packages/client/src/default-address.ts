import { defaultSocketPath, type SocketAddress } from '@spock/protocol/node';

/**
 * Where the sidecar is when the caller does not say. The one place of this package that looks at the process: the app and
 * its sidecar must find each other by SPOCK_SOCKET, or by the same rule without it (see `defaultSocketPath`).
 */
export function defaultAddress(): SocketAddress {
	return { path: defaultSocketPath({ env: process.env, uid: process.getuid?.() }) };
}
