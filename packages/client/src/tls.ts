import { type ConnectionOptions, connect } from 'node:tls';

import type { Transport } from './foundation/transport.ts';

/** What a TLS connection to a sidecar is made with. All of it in PEM; the app itself reads files. */
export interface TlsOptions {
	/** The authorities to trust. Default: those that Node trusts. */
	readonly ca?: ConnectionOptions['ca'];
	/** The client's certificate and its key, where the sidecar asks for one. */
	readonly cert?: ConnectionOptions['cert'];
	readonly key?: ConnectionOptions['key'];
	/** The name that the sidecar's certificate must have. Default: the host that is connected to. */
	readonly servername?: string;
}

/**
 * The transport of `connect({ host, port, transport: tlsTransport({ … }) })`: TLS 1.2 or later, to a sidecar that listens at
 * `tls://`. A function is called at every attempt to connect, so that certificates can be replaced. When a
 * certificate is refused, `connect` rejects with the reason in its message and cause. A module of its own, so that only apps
 * that use it load `node:tls`.
 */
export function tlsTransport(options: TlsOptions | (() => TlsOptions) = {}): Transport {
	return (address) => {
		if ('path' in address) throw new TypeError('tlsTransport needs host and port, not a path');
		const { host, port } = address;
		const given = typeof options === 'function' ? options() : options;
		return connect({ ...given, host, port, minVersion: 'TLSv1.2' }).setNoDelay(true);
	};
}
