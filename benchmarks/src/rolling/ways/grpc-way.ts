import { connect } from '@spock/client';
import { registerSpockResolver } from '@spock/grpc';

import { type ClientSettings, GRPC_SERVICE } from '../rolling-messages.ts';
import type { Way } from './way.ts';
import { WorkClient } from './work-client.ts';

/** One channel of grpc-js by way of the resolver. */
export async function openGrpcWay({ socket }: ClientSettings): Promise<Way> {
	const diplomat = await connect({ path: socket });
	const { unregister } = registerSpockResolver({ diplomat });
	const client = new WorkClient(`spock:///${GRPC_SERVICE}`);
	return {
		call: () => client.call(),
		retries: () => client.retries,
		close: async () => {
			client.close();
			unregister();
			await diplomat.close();
		},
	};
}
