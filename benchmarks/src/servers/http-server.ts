import { createServer } from 'node:http';

import { announce, listenTarget } from './announce.ts';
import { ADDRESS, SERVICE } from './catalogue.ts';

/** A lookup as a plain HTTP resource, kept alive. */
export function serveHttp(address: string): void {
	const server = createServer((request, response) => {
		const found = request.url === `/v1/services/${SERVICE}`;
		const body = JSON.stringify(found ? ADDRESS : { code: 'NO_SUCH_SERVICE' });
		response.writeHead(found ? 200 : 404, { 'content-type': 'application/json', 'content-length': body.length });
		response.end(body);
	});
	server.keepAliveTimeout = 0;
	server.listen(listenTarget(address), () => announce(String(server.address())));
}
