import { type Agent, get, type RequestOptions } from 'node:http';

import { TRY_MS_MAX } from './way.ts';

/** GET over node:http: the body. Rejects with what the connection does, with ETIMEDOUT, and for every status but 200. */
export function getText(target: RequestOptions & { readonly agent: Agent }): Promise<string> {
	return new Promise((resolve, reject) => {
		const request = get({ path: '/work', timeout: TRY_MS_MAX, ...target }, (response) => {
			let body = '';
			response.setEncoding('utf8');
			response.on('data', (text: string) => {
				body += text;
			});
			response.on('error', reject);
			response.on('end', () => {
				if (response.statusCode === 200) resolve(body);
				else reject(new Error(`answered with ${response.statusCode}`));
			});
		});
		request.on('error', reject);
		request.on('timeout', () => {
			request.destroy(Object.assign(new Error(`no answer within ${TRY_MS_MAX} ms`), { code: 'ETIMEDOUT' }));
		});
	});
}
