import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

import { connect } from '@spock/client';

import { serveGrpcInstance } from './instance-grpc.ts';
import { serveHttpInstance } from './instance-http.ts';
import { GRPC_SERVICE, HTTP_SERVICE, type InstanceSettings } from './rolling-messages.ts';

/**
 * The process of one instance. It registers when it serves, says so with its ports, and leaves at SIGTERM in the order of
 * a pod: out of the registry, the pause of a preStop hook, no more connections, what is under way, the end.
 */
async function main(settings: InstanceSettings): Promise<void> {
	const { socket, name, preStopMs } = settings;
	// Ends with who started it, whatever became of that.
	process.stdin.on('end', () => process.exit(1)).resume();
	const http = await serveHttpInstance(settings);
	const grpc = await serveGrpcInstance(settings);
	const diplomat = await connect({ path: socket });
	const host = '127.0.0.1';
	await diplomat.register({ service: HTTP_SERVICE, host, port: http.port, meta: { name } });
	await diplomat.register({ service: GRPC_SERVICE, host, port: grpc.port, meta: { name } });
	const terminated = once(process, 'SIGTERM');
	process.stdout.write(`ready ${JSON.stringify({ http: http.port, grpc: grpc.port })}\n`);
	await terminated;
	await diplomat.drain();
	await delay(preStopMs);
	await Promise.all([http.stop(), grpc.stop()]);
	process.exit(0);
}

await main(JSON.parse(process.argv[2] ?? '') as InstanceSettings);
