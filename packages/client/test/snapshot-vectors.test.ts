import { readFileSync } from 'node:fs';

import type { ServiceSnapshot } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { type Simulation, simulate } from './simulated-client.ts';

interface Vector {
	readonly rule: string;
	readonly steps: readonly Step[];
	readonly has: ServiceSnapshot;
	/** Whether the client asks for the whole on the same connection; it may where a push comes in time. */
	readonly asks?: true | 'may';
}

type Step =
	| { readonly reply: unknown }
	| { readonly connect: true }
	| { readonly event: string; readonly data: unknown };

const vectors = readFileSync(new URL('../../protocol/vectors/snapshots.ndjson', import.meta.url), 'utf8')
	.split('\n')
	.filter((line) => line !== '')
	.map((line) => JSON.parse(line) as Vector);

/** Far more than a client takes to ask again. */
const TRIES_MAX = 100;

async function until({ clock }: Simulation, isSo: () => boolean): Promise<void> {
	for (let tries = 0; !isSo() && tries < TRIES_MAX; tries++) await clock.advance(100);
	expect(isSo()).toBe(true);
}

async function play(step: Step, simulation: Simulation, answered: Set<object>): Promise<void> {
	const { sidecar } = simulation;
	if ('connect' in step) {
		const before = sidecar.connections.length;
		sidecar.connection.drop();
		await until(simulation, () => sidecar.connections.length > before);
	} else if ('reply' in step) {
		const { number } = sidecar.connection;
		const waiting = () =>
			sidecar.requestsOf('watchService').find((one) => one.connection === number && !answered.has(one));
		await until(simulation, () => waiting() !== undefined);
		const request = waiting();
		if (request === undefined) return;
		answered.add(request);
		sidecar.connection.reply(request.id, step.reply);
	} else sidecar.connection.push(step.event, step.data);
	await settle();
}

describe('vectors: the snapshot that a client makes of what comes', () => {
	it('there are vectors', () => expect(vectors.length).toBeGreaterThan(20));

	it.each(vectors)('$rule', async ({ steps, has, asks = false }) => {
		const simulation = await simulate(
			{},
			{ handle: ({ func }) => (func === 'watchService' ? ('hold' as const) : undefined) },
		);
		const { diplomat, sidecar } = simulation;
		const first = diplomat.getInstances('barista', { timeoutMs: 60_000 });
		const answered = new Set<object>();
		for (const step of steps) await play(step, simulation, answered);
		await first;
		expect(await diplomat.getInstances('barista')).toEqual(has);
		const requests = sidecar.requestsOf('watchService');
		const hasAsked = requests.length > sidecar.connections.length;
		if (asks !== 'may') expect(hasAsked).toBe(asks);
		await diplomat.close();
	});
});
