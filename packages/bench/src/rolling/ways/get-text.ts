import { once } from 'node:events';
import { type Agent, get, type IncomingMessage, type RequestOptions } from 'node:http';
import { text } from 'node:stream/consumers';

import { TRY_MS_MAX } from './way.ts';

/** GET over node:http: the body. Rejects with what the connection does, and for every status but 200. */
export async function getText(target: RequestOptions & { readonly agent: Agent }): Promise<string> {
	const request = get({ path: '/work', ...target, signal: AbortSignal.timeout(TRY_MS_MAX) });
	// What breaks off the body breaks off its reader.
	request.on('error', () => undefined);
	const [response] = (await once(request, 'response')) as [IncomingMessage];
	const body = await text(response);
	if (response.statusCode !== 200) throw new Error(`answered with ${response.statusCode}`);
	return body;
}
