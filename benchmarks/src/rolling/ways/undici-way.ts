import { connect } from '@spock/client';
import { createDispatcher } from '@spock/undici';
import { Agent, type Dispatcher, interceptors, request } from 'undici';

import { type ClientSettings, HTTP_SERVICE } from '../rolling-messages.ts';
import { RETRIES_MAX, TRY_MS_MAX, type Way } from './way.ts';

const URL_OF_SERVICE = `http://${HTTP_SERVICE}.spock/work`;

/** undici's `request` by way of the dispatcher, with undici's own retries around it. */
export async function openUndiciWay({ socket }: ClientSettings): Promise<Way> {
	const diplomat = await connect({ path: socket });
	let requests = 0;
	let tries = 0;
	const counted: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
		tries++;
		return dispatch(options, handler);
	};
	const agentOptions = { headersTimeout: TRY_MS_MAX, bodyTimeout: TRY_MS_MAX };
	const spock = createDispatcher({ diplomat, Agent, agentOptions });
	// Another instance is not asked sooner by waiting.
	const dispatcher = spock.compose(counted, interceptors.retry({ maxRetries: RETRIES_MAX, minTimeout: 0 }));
	return {
		call: async () => {
			requests++;
			const { statusCode, body } = await request(URL_OF_SERVICE, { dispatcher });
			const text = await body.text();
			if (statusCode !== 200) throw new Error(`answered with ${statusCode}`);
			return text;
		},
		retries: () => tries - requests,
		close: async () => {
			await spock.close();
			await diplomat.close();
		},
	};
}
