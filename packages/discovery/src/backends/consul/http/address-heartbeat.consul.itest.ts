import { findConsul, startConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { consulBackend } from '../consul-backend.ts';

const binary = findConsul(process.env);
/** A heartbeat and its deadline take 8 s at most; the query that is held would take 60 s. */
const LEFT_MS_MAX = 20_000;

it('an agent that was stopped and not ended is left for the next address', async () => {
	await using first = await startConsul({ binary });
	await using second = await startConsul({ binary });
	await second.put('/v1/agent/service/register', { ID: 'b', Name: 'barista', Port: 1 });
	const backend = consulBackend({ addresses: [first.url, second.url] });
	const ports: number[][] = [];
	const errors: unknown[] = [];
	backend.watch(
		{ service: 'barista' },
		{ answered: (all) => ports.push(all.map(({ port }) => port)), failed: (error) => errors.push(error) },
	);
	await waitFor('the first answer', () => ports.length > 0);
	expect(ports[0]).toEqual([]);
	const { pid } = first;
	process.kill(pid, 'SIGSTOP');
	try {
		await waitFor('the answer of the second', () => ports.at(-1)?.length === 1, LEFT_MS_MAX);
		expect(errors).toEqual([]);
	} finally {
		process.kill(pid, 'SIGCONT');
	}
	await backend.close();
}, 60_000);
