import { fakeSnapshot, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

async function withBarista(handle?: Parameters<typeof simulate>[1]) {
	const { diplomat, sidecar } = await simulate({}, handle);
	sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
	const messageOf = (service: string | { service: string; datacenter?: string }): Promise<unknown> =>
		diplomat.getService(service).catch((error: Error) => error.message);
	return { diplomat, sidecar, messageOf };
}

describe('a lookup of a service that does not exist', () => {
	it('names the one that was most likely meant, and asks once for the names', async () => {
		const { diplomat, sidecar, messageOf } = await withBarista();
		await expect(diplomat.getService('barrista')).rejects.toMatchObject({
			code: 'NO_SUCH_SERVICE',
			message: 'no instance of "barrista" is registered; did you mean "barista"?',
			details: { service: 'barrista', didYouMean: 'barista' },
		});
		expect(await messageOf('barrista')).toContain('did you mean "barista"?');
		await expect(diplomat.getService('barrista', { fresh: true, key: 'k' })).rejects.toThrow(/did you mean "barista"/);
		expect(sidecar.requestsOf('listServices')).toHaveLength(1);
		await diplomat.close();
	});

	it('names none where none is near, or where the names are of another datacenter', async () => {
		const { diplomat, messageOf } = await withBarista();
		expect(await messageOf('orders')).toBe('no instance of "orders" is registered');
		expect(await messageOf({ service: 'barrista', datacenter: 'dc2' })).not.toContain('did you mean');
		await diplomat.close();
	});

	it('is refused as well where the names are not to be had', async () => {
		const { diplomat, messageOf } = await withBarista({
			handle: ({ func }) => (func === 'listServices' ? { error: wireError('ACL_DENIED') } : undefined),
		});
		expect(await messageOf('barrista')).toBe('no instance of "barrista" is registered');
		await diplomat.close();
	});
});
