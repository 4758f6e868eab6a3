import type { Diplomat } from '@spock/client';
import { expect, it } from 'vitest';

import { createDispatcher, spockInterceptor } from './index.ts';

// Each is only compiled: that the types of every undici take what this package gives is the test.
const uses: ReadonlyArray<(diplomat: Diplomat) => Promise<unknown>> = [
	async (diplomat) => fetch('http://barista.spock/', { dispatcher: createDispatcher({ diplomat }) }),
	async (diplomat) => {
		const { Agent, fetch, interceptors, request } = await import('undici7');
		const dispatcher = createDispatcher({ diplomat, Agent, agentOptions: { headersTimeout: 1 } });
		await fetch('http://barista.spock/', { dispatcher });
		await request('http://barista.spock/', { dispatcher: dispatcher.compose(interceptors.retry()) });
		const agent = new Agent().compose(spockInterceptor({ diplomat }), interceptors.retry());
		return request('http://barista.spock/', { dispatcher: agent });
	},
	async (diplomat) => {
		const { Agent, fetch, interceptors, request } = await import('undici8');
		const dispatcher = createDispatcher({ diplomat, Agent, agentOptions: { headersTimeout: 1 } });
		await fetch('http://barista.spock/', { dispatcher });
		await request('http://barista.spock/', { dispatcher: dispatcher.compose(interceptors.retry()) });
		const agent = new Agent().compose(spockInterceptor({ diplomat }), interceptors.retry());
		return request('http://barista.spock/', { dispatcher: agent });
	},
];

it('the types of every undici take the dispatcher and the interceptor', () => {
	expect(uses).toHaveLength(3);
});
