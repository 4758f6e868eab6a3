import type { Setting } from './setting.ts';

/** Who may connect over TCP. */
export const accessSettings: readonly Setting[] = [
	{
		name: 'listen',
		flag: '--listen <address>',
		env: 'SPOCK_LISTEN',
		help: 'TCP address, HOST:PORT or tls://HOST:PORT, in place of the socket, or beside it if --socket is given',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'listenAny',
		flag: '--listen-any',
		env: 'SPOCK_LISTEN_ANY',
		help: 'allow --listen at an address that other machines can reach',
		kind: 'boolean',
		fallback: 'false',
	},
	{
		name: 'token',
		env: 'SPOCK_TOKEN',
		help: 'the token that clients must give in hello over TCP',
		kind: 'text',
		isSecret: true,
		fallback: 'none',
	},
	{
		name: 'tokenFile',
		flag: '--token-file <file>',
		env: 'SPOCK_TOKEN_FILE',
		help: 'file with that token, or with two during a rotation, one per line; read again when it changes',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'tokenOnSocket',
		flag: '--token-on-socket',
		env: 'SPOCK_TOKEN_ON_SOCKET',
		help: 'require the token on the unix domain socket too',
		kind: 'boolean',
		fallback: 'false',
	},
	{
		name: 'tlsCert',
		flag: '--tls-cert <file>',
		env: 'SPOCK_TLS_CERT',
		help: 'certificate chain for tls://, in PEM; read again when it changes, as the other two are',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'tlsKey',
		flag: '--tls-key <file>',
		env: 'SPOCK_TLS_KEY',
		help: 'private key of that certificate, in PEM',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'tlsClientCa',
		flag: '--tls-client-ca <file>',
		env: 'SPOCK_TLS_CLIENT_CA',
		help: 'authorities of the certificates that clients must have, in PEM',
		kind: 'text',
		fallback: 'none: clients need no certificate',
	},
];

/** The gRPC front. */
export const grpcSettings: readonly Setting[] = [
	{
		name: 'grpc',
		flag: '--grpc <address>',
		env: 'SPOCK_GRPC',
		help: 'addresses for gRPC: unix:PATH, HOST:PORT or tls://HOST:PORT; repeated or separated by commas (docs/GRPC.md)',
		kind: 'list',
		fallback: 'none',
	},
	{
		name: 'grpcAny',
		flag: '--grpc-any',
		env: 'SPOCK_GRPC_ANY',
		help: 'allow --grpc at an address that other machines can reach, as for probes of a pod',
		kind: 'boolean',
		fallback: 'false',
	},
];

/** Settings of taking the place of another sidecar. */
export const handOverSettings: readonly Setting[] = [
	{
		name: 'takeOver',
		flag: '--take-over',
		env: 'SPOCK_TAKE_OVER',
		help: 'replace the sidecar that listens at the socket, without a failed call; if there is none, just start',
		kind: 'boolean',
		fallback: 'false',
	},
	{
		name: 'takeOverWarmUpMs',
		flag: '--take-over-warm-up-ms <ms>',
		env: 'SPOCK_TAKE_OVER_WARM_UP_MS',
		help: 'how long the registry may take to answer what the old sidecar knows, before the take-over is given up',
		kind: 'integer',
		fallback: '30000',
	},
];
