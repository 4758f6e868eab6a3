import { validateOpenConsumer } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { Sink, StoresHouse } from '../test/stores-house.ts';

describe('a stream whose store refuses events', () => {
	it('has a name that leaves room for those of its refused and dead events', async () => {
		const house = await new StoresHouse().open();
		const longest = 'orders'.padEnd(110, 'x');
		const publish = (stream: string) =>
			house.service.publish({ stream, payload: 'bad' }).then(
				() => 'published',
				({ code }: { code: string }) => code,
			);
		const names = [longest, `${longest}x`, `${longest}.dead`, `${longest}x.dead`, 'clicks'.padEnd(128, 'x')];
		const outcomes = ['published', 'BAD_REQUEST', 'published', 'BAD_REQUEST', 'published'];
		expect(await Promise.all(names.map(publish))).toEqual(outcomes);
		await house.clock.advance(5000);
		for (const stream of [`${longest}.refused`, `${longest}.dead.refused`]) {
			const sink = new Sink();
			const data = validateOpenConsumer({ stream, group: 'billing', from: 'first' });
			await house.service.openConsumer(data, sink);
			await settle();
			expect(sink.events).toHaveLength(1);
		}
	});
});
