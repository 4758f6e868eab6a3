// A web server that is the store of streams: it takes batches of CloudEvents, and each event once, though one may come twice.
//   node examples/events/collector.js 8080
//   sidecar start --events ./events --events-store http --events-http-url http://127.0.0.1:8080/
//   sidecar events publish orders '{"total":5}'
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

/** What was taken. In a database: the primary key of the table that the events go into, and they in one transaction with it. */
const taken = new Set();

const server = createServer(async (request, response) => {
	const events = await json(request).catch(() => undefined);
	if (!Array.isArray(events)) {
		// 400 is about what was sent: the sidecar parks the event in `<stream>.refused`. Answer 503 where the fault is here: it tries again.
		response.writeHead(400).end('expected a batch of CloudEvents');
		return;
	}
	for (const { source, id, type, data } of events) {
		// Not by the header idempotency-key: after a failure the same events come in other batches, and with the same ids.
		const key = `${source} ${id}`;
		if (taken.has(key)) continue;
		taken.add(key);
		console.log(`${type} ${JSON.stringify(data)}`);
	}
	// The sidecar forgets the events from here on.
	response.writeHead(204).end();
});

server.listen(Number(process.argv[2] ?? 8080), '127.0.0.1', () => {
	console.log(`collecting at http://127.0.0.1:${server.address().port}/`);
});
