import type { LoadTarget } from '../load/load.ts';

/** The client of every peer, by name. Each is loaded only where it is used, so that no peer pays for another's memory. */
const PEERS: Readonly<Record<string, (address: string) => Promise<LoadTarget>>> = {
	echo: async (address) => (await import('./echo-peer.ts')).connectEcho(address),
	spock: async (address) => (await import('./spock-peer.ts')).connectSpock(address),
	'spock-wide': async (address) => (await import('./spock-peer.ts')).connectSpockWide(address),
	'spock-many': async (address) => (await import('./spock-peer.ts')).connectSpockMany(address),
	'spock-per-call': async (address) => (await import('./spock-peer.ts')).connectSpockPerCall(address),
	'echo-per-call': async (address) => (await import('./echo-peer.ts')).connectEchoPerCall(address),
	readline: async (address) => (await import('./readline-peer.ts')).connectReadline(address),
	grpc: async (address) => (await import('./grpc-peer.ts')).connectGrpc(address),
	'grpc-front': async (address) => (await import('./grpc-front-peer.ts')).connectGrpcFront(address),
	undici: async (address) => (await import('./undici-peer.ts')).connectUndici(address),
	ioredis: async (address) => (await import('./ioredis-peer.ts')).connectRedis(address),
	'consul-http': async (address) => (await import('./consul-http-peer.ts')).connectConsul(address, '?passing'),
	'consul-http-cached': async (address) =>
		(await import('./consul-http-peer.ts')).connectConsul(address, '?passing&cached'),
};

/** Connects to a peer's server; resolves when a first call was answered rightly. */
export async function connectPeer(name: string, address: string): Promise<LoadTarget> {
	const connect = PEERS[name];
	if (connect === undefined) throw new Error(`no peer is called ${name}`);
	const target = await connect(address);
	const reply = target.call === undefined ? undefined : await target.call();
	const port = (reply as { port?: unknown } | undefined)?.port;
	if (target.call !== undefined && port !== 8765) throw new Error(`${name} answered ${JSON.stringify(reply)}`);
	return target;
}
