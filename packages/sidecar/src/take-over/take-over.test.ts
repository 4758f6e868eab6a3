import { SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { SidecarSource } from '../foundation/sidecar-source.ts';
import type { KnownQueries } from './messages.ts';
import type { findPredecessor, Predecessor } from './predecessor.ts';
import { type TakeOverContext, type TakeOverEvent, takeOver } from './take-over.ts';

/** Takes over from a sidecar that answers `finish` so; gives what was told, and adds to `steps` what was done. */
function told(finish: () => Promise<void>, isClosed = false, steps: string[] = []): Promise<TakeOverEvent[]> {
	const begin = async (): Promise<KnownQueries> => ({ services: [], keys: [] });
	return toldBy(async () => ({ begin, finish, isClosed: () => isClosed, close: () => undefined }), steps);
}

/** The same, from whichever sidecar is found. */
async function toldBy(
	find: typeof findPredecessor,
	steps: string[] = [],
	context: Partial<TakeOverContext> = {},
): Promise<TakeOverEvent[]> {
	const events: TakeOverEvent[] = [];
	const nothing = async (): Promise<void> => undefined;
	await takeOver({
		places: [{ address: { path: '/s' }, options: { accept: () => undefined } }],
		listen: async () => ({
			address: '/s',
			close: nothing,
			place: {
				isReplaced: async () => false,
				publish: async (how) => void steps.push(how),
				restore: async () => 'ours',
			},
		}),
		source: { probe: async () => 'registry' } as unknown as SidecarSource,
		clock: new FakeClock(),
		signal: new AbortController().signal,
		bound: () => undefined,
		open: async () => void steps.push('open'),
		find,
		warmUpMs: 1000,
		told: (event) => void events.push(event),
		...context,
	});
	return events.filter(({ step }) => step !== 'begun');
}

describe('takeOver', () => {
	it('tells a sidecar that hangs, or has gone, from one that refuses to leave', async () => {
		const failing = (error: Error) => (): Promise<void> => Promise.reject(error);
		const hung = { step: 'hung', questions: 0 };
		expect(await told(failing(new SpockError('TIMEOUT', 'late')))).toEqual([hung]);
		expect(await told(failing(new Error('it closed the connection')), true)).toEqual([hung]);
		const refusal = new SpockError('BAD_REQUEST', 'no');
		expect(await told(failing(refusal))).toEqual([{ step: 'refused', questions: 0, error: refusal }]);
		expect(await told(() => Promise.resolve())).toEqual([{ step: 'finished', questions: 0 }]);
	});

	it('listens for its own successor before it replaces another', async () => {
		const steps: string[] = [];
		await told(async () => void steps.push('finish'), false, steps);
		expect(steps).toEqual(['open', 'replace', 'finish']);
		steps.length = 0;
		await told(() => Promise.resolve(), true, steps);
		expect(steps).toEqual(['if free']);
	});

	it('starts as ever where the sidecar in place ends in the moment in which it is asked', async () => {
		const steps: string[] = [];
		const ending: Predecessor = {
			begin: () => Promise.reject(new SpockError('DISCONNECTED', 'it closed the connection')),
			finish: () => Promise.reject(new Error('not called')),
			isClosed: () => true,
			close: () => void steps.push('close'),
		};
		const found = [ending, undefined];
		expect(await toldBy(async () => found.shift(), steps)).toEqual([{ step: 'nobody', questions: 0 }]);
		expect(steps).toEqual(['close', 'if free']);
		// One that does so every time is no sidecar.
		await expect(toldBy(async () => ending)).rejects.toThrow('it closed the connection');
	});

	it('does not wait for a log that cannot be read longer than for the registry', async () => {
		const clock = new FakeClock();
		const steps: string[] = [];
		const prepare = (): Promise<void> => new Promise(() => undefined);
		const taken = toldBy(async () => undefined, steps, { clock, prepare });
		await settle();
		expect(steps).toEqual([]);
		await clock.advance(1000);
		expect(await taken).toEqual([{ step: 'nobody', questions: 0 }]);
		expect(steps).toEqual(['if free']);
		expect(clock.pendingTimers).toBe(0);
	});

	it('ends at once when its process must end while the log is read', async () => {
		const end = new AbortController();
		const steps: string[] = [];
		const prepare = (): Promise<void> => new Promise(() => undefined);
		const taken = toldBy(async () => undefined, steps, { signal: end.signal, prepare });
		await settle();
		end.abort(new Error('it must end'));
		await expect(taken).rejects.toThrow('it must end');
		expect(steps).toEqual([]);
	});
});
