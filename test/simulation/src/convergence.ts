import {
	type ErrorCode,
	isAskedFor,
	type KeySnapshot,
	type ServiceQuery,
	type ServiceSnapshot,
	type SpockError,
} from '@spock/protocol';

import type { SimClient } from './sim-client.ts';
import type { WorldContext } from './world-context.ts';

/** At the end of a calm time: every client knows the truth, and what was acknowledged is so. */
export function checkConvergence(client: SimClient): void {
	const { world, process, diplomat, book, options } = client;
	const fail = (what: string): void => world.fail('changes arrive', `${process.name}, after a calm time: ${what}`);
	if (!client.isConnected) fail(`it is ${diplomat.status().state}: ${diplomat.status().lastError}`);
	for (const { query, last } of client.watchers) {
		if (last === undefined) fail(`its watch of ${query.service} was told nothing`);
		else checkSnapshot(client, query, last, fail);
	}
	const call = {
		timeoutMs: options.timeoutMs,
		// The app's own calls go on in the calm, and may have filled the output just now.
		mayFail: (code: ErrorCode, { details }: SpockError) =>
			code === 'CLOSED' ? client.isEnding : code === 'OVERLOADED' && 'pendingOutputBytesMax' in details,
	};
	for (const service of world.registry.serviceNames) {
		const query = { service };
		book.call(
			{
				...call,
				what: `getInstances ${service}`,
				answered: (snapshot) => checkSnapshot(client, query, snapshot, fail),
			},
			() => diplomat.getInstances(query),
		);
	}
	for (const key of world.registry.keyNames) {
		book.call({ ...call, what: `getKey ${key}`, answered: (snapshot) => checkKey(client, key, snapshot, fail) }, () =>
			diplomat.getKey(key),
		);
	}
	checkClaims(client);
}

function checkSnapshot(
	client: SimClient,
	query: ServiceQuery,
	snapshot: ServiceSnapshot,
	fail: (what: string) => void,
): void {
	const item = client.world.registry.services.get(query.service);
	if (item === undefined) return;
	const had = item.current.value.filter((one) => isAskedFor(query, one));
	const [first] = snapshot.instances;
	const version = Number(first?.meta['version'] ?? 0);
	const wanted = had.length === 0 ? 0 : item.current.number;
	if (version === wanted && snapshot.source === 'live' && snapshot.instances.length === had.length) return;
	const { source, ageMs, revision } = snapshot;
	const sinceMs = client.world.nowMs - item.current.fromMs;
	fail(
		`of ${query.service} it knows version ${version} (${source}, ${ageMs} ms, revision ${revision}), which is ${wanted} since ${sinceMs} ms`,
	);
}

function checkKey(client: SimClient, key: string, snapshot: KeySnapshot, fail: (what: string) => void): void {
	const { source } = snapshot;
	const value = snapshot.prefix === true ? undefined : snapshot.value;
	const current = client.world.registry.keys.get(key)?.current.value[0]?.value ?? null;
	if (value !== current || source !== 'live') fail(`the key ${key} is ${value} (${source}), which is ${current}`);
}

/** What an app has registered is there, and is what it said last. */
export function checkClaims({ claimed, host, world, process }: SimClient): void {
	const fail = (what: string): void => world.fail('nothing acknowledged is lost', `${process.name}: ${what}`);
	for (const { id, port, said, registration } of claimed.values()) {
		const known = world.registry.registered.get(id);
		if (known === undefined || known.port !== port) fail(`${id} was registered, and the registry does not know it`);
		else if (id !== host.sharedId && said.at(-1)?.status !== known.status) {
			fail(`of ${id} was said ${said.map(({ status }) => status).join(', then ')}, and it is ${known.status}`);
		}
		if (registration.state !== 'registered') fail(`${id} says that it is ${registration.state}: ${registration.error}`);
	}
}

const FROM_WORST: readonly string[] = ['critical', 'warning', 'passing'];

/** What the workers of one host share is as well as the best of them. */
export function checkShared(world: WorldContext, id: string, clients: readonly SimClient[]): void {
	// One that may hold it, and does not know: its word may count or not.
	if (clients.some(({ unsure }) => unsure.has(id))) return;
	const holders = clients.flatMap(({ claimed }) => claimed.get(id) ?? []);
	const [first, ...others] = holders.map(({ said }) => said.map(({ status }) => FROM_WORST.indexOf(status)));
	if (first === undefined) return;
	const best = others.reduce((some, more) => some.flatMap((one) => more.map((other) => Math.max(one, other))), first);
	const status = world.registry.registered.get(id)?.status ?? '';
	if (best.includes(FROM_WORST.indexOf(status))) return;
	const may = [...new Set(best)].map((one) => FROM_WORST[one]).join(' or ');
	world.fail('nothing acknowledged is lost', `${id} of ${holders.length} holders must be ${may}, and is ${status}`);
}
