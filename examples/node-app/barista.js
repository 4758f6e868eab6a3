// One of the baristas of `npm start`: answers over HTTP, and registers itself. It ends at Ctrl-C or SIGTERM, and when its
// standard input ends: so it never outlives what has started it, even if that is killed.
//   node examples/node-app/barista.js [NAME]
import { once } from 'node:events';
import { createServer } from 'node:http';

import { connect } from '@spock/client';

const [name = 'barista-1'] = process.argv.slice(2);
const STOP_TIMEOUT_MS = 5000;

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stopping.abort());
process.stdin.resume().once('close', () => stopping.abort());

const server = createServer((request, response) => {
	const [, action, drink] = new URL(request.url, 'http://barista').pathname.split('/');
	if (action === 'make' && drink) return response.end(`${drink}, made by ${name}`);
	const answers = {
		menu: { barista: name, port: server.address().port, drinks: ['espresso', 'cortado', 'flat white'] },
		health: { barista: name, healthy: true },
	};
	const answer = Object.hasOwn(answers, action) ? answers[action] : undefined;
	response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
	response.end(`${JSON.stringify(answer ?? { error: 'there are /menu, /make/DRINK and /health' })}\n`);
});
server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1');
await once(server, 'listening');

try {
	const diplomat = await connect({ signal: stopping.signal });
	const { port } = server.address();
	const registration = await diplomat.register({ service: 'barista', id: name, host: '127.0.0.1', port });
	console.log(`${name} serves http://127.0.0.1:${port}/menu`);
	if (!stopping.signal.aborted) await once(stopping.signal, 'abort');
	// A sidecar that was killed cannot be left in order.
	setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
	await registration.drain();
	await diplomat.drain();
} catch (error) {
	if (!stopping.signal.aborted) {
		console.error(`${name} cannot be found by others: ${error.message}`);
		process.exitCode = 1;
	}
}
server.close();
server.closeAllConnections();
process.stdin.destroy();
