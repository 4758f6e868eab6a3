import { createInterface } from 'node:readline';

import { connect, type Diplomat } from '@spock/client';

/** Subscriptions of one connection; a sidecar allows 4096. */
const SERVICES_EACH = 4000;

/**
 * Clients that subscribe: to `services` services by as few connections as will do, or `connections` of them to one
 * service. Prints a line when every snapshot is there. Each line of input, a number, waits until that many pushes came in
 * all, and is answered with a line. Arguments: the socket, the number of services, the number of connections.
 */
export async function probeSubscribe([path = '', services = '1', connections = '1']: readonly string[]): Promise<void> {
	const names = Array.from({ length: Number(services) }, (_, index) => `service-${index}`);
	const diplomats: Diplomat[] = [];
	let pushes = 0;
	let awaited = Number.POSITIVE_INFINITY;
	const onPush = (): void => {
		pushes++;
		if (pushes < awaited) return;
		awaited = Number.POSITIVE_INFINITY;
		process.stdout.write('{"done":true}\n');
	};
	const subscribe = async (wanted: readonly string[]): Promise<void> => {
		const diplomat = await connect({ path, timeoutMs: 60_000 });
		diplomats.push(diplomat);
		await Promise.all(wanted.map((name) => follow(diplomat, name, onPush)));
	};
	if (Number(connections) > 1) {
		for (let index = 0; index < Number(connections); index++) await subscribe(names);
	} else {
		for (let from = 0; from < names.length; from += SERVICES_EACH)
			await subscribe(names.slice(from, from + SERVICES_EACH));
	}
	process.stdout.write('{"ready":true}\n');
	for await (const line of createInterface({ input: process.stdin })) {
		awaited = Number(line);
		if (pushes >= awaited) {
			awaited = Number.POSITIVE_INFINITY;
			process.stdout.write('{"done":true}\n');
		}
	}
	await Promise.all(diplomats.map((diplomat) => diplomat.close()));
}

/** Resolves with the first snapshot; later ones are told. */
async function follow(diplomat: Diplomat, name: string, onPush: () => void): Promise<void> {
	const snapshots = diplomat.watchService(name);
	await snapshots.next();
	void (async () => {
		for await (const _ of snapshots) onPush();
	})();
}
