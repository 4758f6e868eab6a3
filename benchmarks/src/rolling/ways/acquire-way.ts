import { Agent } from 'node:http';

import { connect } from '@spock/client';
import { failedInstances, instanceError, outcomeOf } from '@spock/client/integrations';

import { type ClientSettings, HTTP_SERVICE } from '../rolling-messages.ts';
import { getText } from './get-text.ts';
import { Retried } from './retried.ts';
import type { Way } from './way.ts';

/** A lease for each request, and an agent that knows nothing of it: what one does by hand, without an integration. */
export async function openAcquireWay({ socket }: ClientSettings): Promise<Way> {
	const diplomat = await connect({ path: socket });
	const agent = new Agent({ keepAlive: true });
	const retried = new Retried();
	const attempt = async (): Promise<string> => {
		const failed = failedInstances({ service: HTTP_SERVICE });
		const lease = await diplomat.acquire(HTTP_SERVICE, failed === undefined ? {} : { exclude: failed });
		const { query, address } = lease;
		try {
			const body = await getText({ host: address.host, port: address.port, agent });
			lease.release('success');
			return body;
		} catch (error) {
			lease.release(outcomeOf(error));
			failed?.add(address.instance);
			throw instanceError(query, address, error);
		}
	};
	return {
		call: () => retried.call(attempt),
		retries: () => retried.retries,
		close: async () => {
			agent.destroy();
			await diplomat.close();
		},
	};
}
