import type { ServiceInstance } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { createSource, instance, query, recorder, refused } from '../../test/fake-backend-source.ts';

describe('panic', () => {
	const instances = (...statuses: ServiceInstance['status'][]) =>
		statuses.map((status, number) => ({ ...instance(`i${number}`), status }));

	it('below the threshold the snapshot says so, and at it no more; each change is told once', () => {
		const { source, last, events } = createSource({ panicThreshold: 0.5 });
		source.watch(query, recorder());
		last().answered(instances('passing', 'critical'));
		expect(source.peek(query)).not.toHaveProperty('panic');
		last().answered(instances('passing', 'critical', 'critical'));
		expect(source.peek(query)).toMatchObject({ panic: true, source: 'live' });
		last().failed(refused);
		expect(source.peek(query)).toMatchObject({ panic: true, source: 'last-known-good' });
		last().answered(instances('critical', 'critical', 'critical'));
		expect(source.peek(query)).toMatchObject({ panic: true });
		last().answered(instances('passing', 'warning', 'critical'));
		expect(source.peek(query)).not.toHaveProperty('panic');
		expect(events.filter((event) => event.type === 'panic')).toMatchObject([
			{ active: true, healthy: 1, instances: 3 },
			{ active: false, healthy: 2, instances: 3 },
		]);
	});

	it('is off by default, and never for a service without instances', () => {
		const off = createSource();
		off.source.watch(query, recorder());
		off.last().answered(instances('critical', 'critical'));
		expect(off.source.peek(query)).not.toHaveProperty('panic');
		const on = createSource({ panicThreshold: 1 });
		on.source.watch(query, recorder());
		on.last().answered([]);
		expect(on.source.peek(query)).not.toHaveProperty('panic');
	});

	it.each([-0.1, 1.1, Number.NaN])('a threshold of %s is refused by name', (panicThreshold) => {
		expect(() => createSource({ panicThreshold })).toThrow(/panicThreshold/);
	});
});
