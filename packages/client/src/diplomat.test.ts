import type { ServiceAddress, ServiceSnapshot } from '@spock/protocol';
import { describe, expect, expectTypeOf, it } from 'vitest';

import { simulate } from '../test/simulated-client.ts';

describe('types', () => {
	it('a misspelt function or member does not compile, and replies are typed', async () => {
		const { diplomat } = await simulate();
		expectTypeOf(diplomat.request<'getService'>).returns.resolves.toEqualTypeOf<ServiceAddress>();
		expectTypeOf(diplomat.getInstances).returns.resolves.toEqualTypeOf<ServiceSnapshot>();
		const never = (): void => {
			// @ts-expect-error: no such function
			void diplomat.request('getServices', { service: 'barista' });
			// @ts-expect-error: no such member
			void diplomat.request('getService', { servise: 'barista' });
			// @ts-expect-error: a member of another type
			void diplomat.request('getService', { service: 5 });
			// @ts-expect-error: no such option
			void diplomat.getService('barista', { freshh: true });
			// @ts-expect-error: no such member of the reply
			void diplomat.request('getService', { service: 'barista' }).then(({ hots }) => hots);
		};
		expect(never).toBeTypeOf('function');
		await diplomat.close();
	});
});
