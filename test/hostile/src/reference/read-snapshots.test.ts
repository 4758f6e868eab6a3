import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { SnapshotReading } from './read-snapshots.ts';

type Step =
	| { readonly reply: Record<string, unknown> }
	| { readonly connect: true }
	| { readonly event: string; readonly data: Record<string, unknown> };

const vectors = readFileSync(new URL('../../../../packages/protocol/vectors/snapshots.ndjson', import.meta.url), 'utf8')
	.split('\n')
	.filter((line) => line !== '')
	.map((line) => JSON.parse(line) as { rule: string; steps: readonly Step[]; has: unknown; asks?: true | 'may' });

describe('the reference reads snapshots as the vectors say', () => {
	it('there are vectors', () => expect(vectors.length).toBeGreaterThan(20));

	it.each(vectors)('$rule', ({ steps, has, asks = false }) => {
		const reading = new SnapshotReading();
		for (const step of steps) {
			if ('connect' in step) reading.connected();
			else if ('reply' in step) reading.reply(step.reply);
			else reading.push(step.event, step.data);
		}
		expect(reading.has).toEqual(has);
		if (asks !== 'may') expect(reading.asks > 0).toBe(asks);
	});
});
