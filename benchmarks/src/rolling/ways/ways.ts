import type { WayName } from '../rolling-messages.ts';
import type { OpenWay } from './way.ts';

/** What the page and the checks know of a way. */
interface WayTraits {
	/** In the page. */
	readonly title: string;
	/** Which of the two services it calls. */
	readonly protocol: 'HTTP' | 'gRPC';
	/** What it must not do is fail a request. */
	readonly mayFail: boolean;
}

/** Ours, and then what others have. */
export const WAYS: Readonly<Record<WayName, WayTraits>> = {
	undici: { title: '`@spock/undici`, undici retries', protocol: 'HTTP', mayFail: false },
	http: { title: '`@spock/http` `DiscoveryAgent`, `retry()`', protocol: 'HTTP', mayFail: false },
	grpc: { title: '`@spock/grpc` resolver, gRPC retries', protocol: 'gRPC', mayFail: false },
	acquire: { title: '`diplomat.acquire`, `retry()`', protocol: 'HTTP', mayFail: false },
	'dns-http': { title: 'DNS round robin, retries', protocol: 'HTTP', mayFail: true },
	'dns-http-once': { title: 'DNS round robin, no retry', protocol: 'HTTP', mayFail: true },
	'dns-grpc': { title: 'DNS round robin, gRPC retries', protocol: 'gRPC', mayFail: true },
};

export const WAY_NAMES: readonly WayName[] = Object.keys(WAYS) as WayName[];

/** Those of a run unless others are asked for: what one does by hand is what `http` does for one. */
export const MEASURED_WAYS: readonly WayName[] = WAY_NAMES.filter((name) => name !== 'acquire');

/** Loads only what the way needs: a process is one client, and not all of them. */
export async function loadWay(name: WayName): Promise<OpenWay> {
	switch (name) {
		case 'undici':
			return (await import('./undici-way.ts')).openUndiciWay;
		case 'http':
			return (await import('./http-way.ts')).openHttpWay;
		case 'grpc':
			return (await import('./grpc-way.ts')).openGrpcWay;
		case 'dns-grpc':
			return (await import('./dns-grpc-way.ts')).openDnsGrpcWay;
		case 'acquire':
			return (await import('./acquire-way.ts')).openAcquireWay;
		case 'dns-http':
			return (await import('./dns-http-way.ts')).openDnsHttpWay;
		case 'dns-http-once':
			return (await import('./dns-http-way.ts')).openDnsHttpOnceWay;
	}
}
