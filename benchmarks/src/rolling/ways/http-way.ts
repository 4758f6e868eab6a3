import { connect } from '@spock/client';
import { DiscoveryAgent } from '@spock/http';

import { type ClientSettings, HTTP_SERVICE } from '../rolling-messages.ts';
import { getText } from './get-text.ts';
import { Retried } from './retried.ts';
import type { Way } from './way.ts';

/** node:http by way of the DiscoveryAgent. */
export async function openHttpWay({ socket }: ClientSettings): Promise<Way> {
	const diplomat = await connect({ path: socket });
	const agent = new DiscoveryAgent({ diplomat });
	const retried = new Retried();
	const target = { host: `${HTTP_SERVICE}.spock`, agent };
	return {
		call: () => retried.call(() => getText(target)),
		retries: () => retried.retries,
		close: async () => {
			agent.destroy();
			await diplomat.close();
		},
	};
}
