import type { Setting } from './settings.ts';

/** The gRPC front. */
export const grpcSettings: readonly Setting[] = [
	{
		name: 'grpc',
		flag: '--grpc <address>',
		env: 'SPOCK_GRPC',
		help: 'where to speak gRPC too: unix:PATH, HOST:PORT or tls://HOST:PORT; may be given again, or several separated by commas (docs/GRPC.md)',
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
