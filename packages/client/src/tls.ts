import { type ConnectionOptions, connect } from 'node:tls';

import type { Transport } from './foundation/transport.ts';

/** What a TLS connection to a sidecar is made with. All of it in PEM; what stands in files the app reads by itself. */
export interface TlsOptions {
	/** Whom to trust. Default: the authorities that Node trusts. */
	readonly ca?: ConnectionOptions['ca'];
	/** The client's certificate and its key, where the sidecar asks for one. */
	readonly cert?: ConnectionOptions['cert'];
	readonly key?: ConnectionOptions['key'];
	/** The name that the sidecar's certificate must have. Default: the host that is connected to. */
	readonly servername?: string;
}

/**
 * The transport of `connect({ host, port, transport: tlsTransport({ … }) })`: TLS 1.2 or later, to a sidecar that listens at
 * `tls://`. A function is asked at every attempt to connect, so that certificates can be replaced. What is wrong with a
 * certificate is in the message and the cause of what `connect` rejects with. A module of its own, so that an app which does
 * not use it does not load `node:tls`.
 */
export function tlsTransport(options: TlsOptions | (() => TlsOptions) = {}): Transport {
	return (address) => {
		if ('path' in address) throw new TypeError('TLS is for host and port, and not for a path');
		const { host, port } = address;
		const given = typeof options === 'function' ? options() : options;
		return connect({ ...given, host, port, minVersion: 'TLSv1.2' }).setNoDelay(true);
	};
}
