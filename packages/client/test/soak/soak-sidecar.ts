import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { type Backend, BackendSource, createLocalBackend, Registrations } from '@spock/discovery';

// By its path: the package of the sidecar depends on this one.
import { createSidecar } from '../../../sidecar/src/index.ts';
import { injectionOf } from './planted-leaks.ts';
import { CountingClock, figuresOfProcess } from './process-figures.ts';
import type { SoakCommand, SoakReply, SoakSettings } from './soak-messages.ts';

// The sidecar of a soak. Beside what it is asked for, it drops a connection every now and then, as a crash of its own would.
const settings = JSON.parse(process.argv[2] ?? '') as SoakSettings;
process.once('disconnect', () => process.exit());

const KILL_EACH_MS = 20;
/** Questions that nobody asks any more are forgotten within a measurement and not a minute later. */
const IDLE_TTL_MS = 100;
const REST_MS_MAX = 1000;

const sockets = new Set<Socket>();
let killed = 0;
subscribe('net.server.socket', (message) => {
	const { socket } = message as { readonly socket: Socket };
	sockets.add(socket);
	socket.once('close', () => sockets.delete(socket));
});

const clock = new CountingClock();
const { observer = {}, source: inject = (own) => own } = injectionOf(settings.leak);
const local = await createLocalBackend({
	services: { steady: [{ host: '10.0.0.1', port: 1 }] },
	keys: { 'app/limits': '{"max":5}' },
	clock,
});
/** As a registry that never answers for some services: calls about them end by their deadline or signal alone. */
const backend: Backend = {
	name: 'soak',
	trustsEmpty: true,
	watch: (query, observer) =>
		query.service.startsWith('slow') ? { stop: () => undefined } : local.watch(query, observer),
	watchKey: local.watchKey?.bind(local),
	list: (query, options) => local.list(query, options),
	status: () => local.status(),
	close: () => local.close(),
};
const { registrar } = local;
if (registrar === undefined) throw new Error('the embedded registry takes registrations');
const source = inject(new BackendSource({ backend, clock, idleTtlMs: IDLE_TTL_MS }));
const registrations = new Registrations({ registrar, owner: 'soak', clock, reconnectGraceMs: 1 });
const sidecar = createSidecar({
	source,
	registrations,
	clock,
	observer,
	listen: [{ address: { path: settings.path } }],
});
await sidecar.start();

setInterval(() => {
	// The first connection is that of the client which lives as long as the soak, and is dropped like any other.
	const all = [...sockets];
	const victim = all[killed % Math.max(1, all.length)];
	if (all.length < 4 || victim === undefined) return;
	killed++;
	victim.destroy();
}, KILL_EACH_MS);

function isAtRest(): boolean {
	const { connections, registrations: registered } = sidecar.gauges();
	return connections <= 1 && registered === 0 && source.watches().length <= 1 && source.keyWatches().length === 0;
}

async function figures(): Promise<SoakReply> {
	// One client is left, with what it always has. What does not come to rest is held, and told.
	const startedMs = performance.now();
	while (!isAtRest() && performance.now() - startedMs < REST_MS_MAX) await delay(5);
	const { connections, subscriptions, inFlight, registrations: registered } = sidecar.gauges();
	const readers = source.watches().reduce((sum, watch) => sum + watch.readers, 0);
	const held = connections + subscriptions + inFlight + registered + readers;
	return { kind: 'figures', figures: await figuresOfProcess(clock, 0, held), killed };
}

process.on('message', ({ kind }: SoakCommand) => {
	if (kind !== 'figures') return;
	figures().then(
		(reply) => process.send?.(reply),
		(error: unknown) => process.send?.({ kind: 'failed', why: String(error) }),
	);
});
process.send?.({ kind: 'ready' } satisfies SoakReply);
