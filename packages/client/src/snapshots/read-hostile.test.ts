import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';
import { readGreeting } from '../connection/greeting.ts';
import { readSnapshot } from './read-snapshot.ts';

const instance = { host: '10.0.0.1', port: 80 };

/** As it would come over the wire. */
function snapshot(text: string): ReturnType<typeof readSnapshot> {
	return readSnapshot(JSON.parse(`{"service":"barista","revision":1,${text}}`));
}

describe('valid frames of hostile content', () => {
	it('a number past the largest one is no weight, no age and no time', () => {
		const read = snapshot(
			'"ageMs":1e999,"verifiedAt":1e999,"instances":[{"host":"10.0.0.1","port":80,"weight":1e999}]',
		);
		expect(read).toMatchObject({ ageMs: 0, verifiedAt: 0, instances: [{ weight: 1 }] });
	});

	it('metadata whose values are no strings is none', () => {
		const read = snapshot(
			`"meta":{"a":1},"instances":[${JSON.stringify({ ...instance, meta: { rack: { length: 1 } } })}]`,
		);
		expect([read.meta, read.instances[0]?.meta]).toEqual([undefined, {}]);
	});

	it('a version that cannot be made a string is a version that this client does not speak', () => {
		expect(() => readGreeting({ version: { toString: 1 } })).toThrow(expect.objectContaining({ code: 'PROTOCOL' }));
	});

	it('a report that is answered with nothing rejects with PROTOCOL', async () => {
		const registered = { id: 'b1', service: 'barista', instance: null, state: 'registered', error: null };
		const { diplomat } = await simulate(
			{},
			{
				handle: ({ func }) => {
					if (func === 'registerService') return { data: registered };
					return func === 'reportService' ? { data: null } : undefined;
				},
			},
		);
		const registration = await diplomat.register({ service: 'barista', port: 80 });
		await expect(registration.report('warning')).rejects.toMatchObject({ code: 'PROTOCOL' });
		expect(registration.state).toBe('registered');
		await diplomat.close();
	});

	it('what a registration is told of instance and error is text or nothing', async () => {
		const { diplomat, sidecar } = await simulate(
			{},
			{
				handle: ({ func }) =>
					func === 'registerService'
						? { data: { id: 'b1', service: 'barista', instance: { a: 1 }, state: 'registered', error: [] } }
						: undefined,
			},
		);
		const registration = await diplomat.register({ service: 'barista', port: 80 });
		expect([registration.instance, registration.error]).toEqual([null, null]);
		sidecar.connections.at(-1)?.push('registration', { id: 'b1', service: 'barista', state: 'sideways' });
		await settle();
		expect(registration.state).toBe('registered');
		expect(diplomat.status().protocolFaults).toBe(1);
		await diplomat.close();
	});
});
