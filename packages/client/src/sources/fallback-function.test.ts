import { type ServiceSource, SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { scriptedSource } from '../../test/direct-client.ts';
import { simulate } from '../../test/simulated-client.ts';
import { DEFAULT_FALLBACK_AFTER_MS } from '../foundation/options.ts';

describe('a function that makes a fallback', () => {
	it('that throws a SpockError rejects a watch with it', async () => {
		const fallback = (): ServiceSource => {
			throw new SpockError('ACL_DENIED', 'no token for the fallback');
		};
		const { diplomat, clock } = await simulate({ fallback }, {}, 'ECONNREFUSED');
		const next = expect(diplomat.watchService('barista').next()).rejects.toMatchObject({
			code: 'ACL_DENIED',
			message: 'no token for the fallback',
		});
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		await next;
		await diplomat.close();
	});

	it.each<[what: string, fallback: () => ServiceSource, cause: RegExp]>([
		[
			'throws',
			() => {
				throw new Error('no address');
			},
			/^no address$/,
		],
		[
			'returns a promise of a source',
			() => Promise.resolve(scriptedSource().source) as never,
			/must be a ServiceSource/,
		],
	])('that %s rejects lookups and lists with UNAVAILABLE and the cause', async (_what, fallback, cause) => {
		const options = { fallback, whileDisconnected: 'fail' } as const;
		const { diplomat, clock } = await simulate(options, {}, 'ECONNREFUSED');
		const calls = [diplomat.getService('barista'), diplomat.getInstances('barista'), diplomat.listServices()];
		const outcomes = Promise.allSettled(calls);
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		for (const outcome of await outcomes) {
			expect(outcome).toMatchObject({
				reason: {
					code: 'UNAVAILABLE',
					message: expect.stringMatching(/^fallback\(\) failed: /),
					cause: { message: expect.stringMatching(cause) },
				},
			});
		}
		await diplomat.close();
	});
});
