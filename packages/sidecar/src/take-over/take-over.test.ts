import { SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { SidecarSource } from '../foundation/sidecar-source.ts';
import { type Predecessor, type TakeOverEvent, takeOver } from './take-over.ts';

/** Takes over from a sidecar that answers `finish` so; gives what was told. */
async function told(finish: () => Promise<null>, isClosed = false): Promise<TakeOverEvent[]> {
	const events: TakeOverEvent[] = [];
	const nothing = async (): Promise<void> => undefined;
	const request = async (_func: string, data: unknown): Promise<unknown> =>
		(data as { step: string }).step === 'begin' ? { services: [], keys: [] } : finish();
	await takeOver({
		places: [{ address: { path: '/s' }, options: { accept: () => undefined } }],
		listen: async () => ({
			address: '/s',
			close: nothing,
			place: { isReplaced: async () => false, publish: nothing, restore: async () => 'ours' },
		}),
		source: { probe: async () => 'registry' } as unknown as SidecarSource,
		clock: new FakeClock(),
		signal: new AbortController().signal,
		bound: () => undefined,
		find: async () => ({ request, isClosed: () => isClosed, close: () => undefined }) as unknown as Predecessor,
		warmUpMs: 1000,
		told: (event) => void events.push(event),
	});
	return events.filter(({ step }) => step !== 'begun');
}

describe('takeOver', () => {
	it('tells a sidecar that hangs, or has gone, from one that refuses to leave', async () => {
		const failing = (error: Error) => (): Promise<null> => Promise.reject(error);
		const hung = { step: 'hung', questions: 0 };
		expect(await told(failing(new SpockError('TIMEOUT', 'late')))).toEqual([hung]);
		expect(await told(failing(new Error('it closed the connection')), true)).toEqual([hung]);
		const refusal = new SpockError('BAD_REQUEST', 'no');
		expect(await told(failing(refusal))).toEqual([{ step: 'refused', questions: 0, error: refusal }]);
		expect(await told(() => Promise.resolve(null))).toEqual([{ step: 'finished', questions: 0 }]);
	});
});
