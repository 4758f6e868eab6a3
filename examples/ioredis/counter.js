// Counts five times a second at whichever Redis server the registry calls the primary, until Ctrl-C.
//   node examples/ioredis/counter.js [SERVICE]
// Beside `npm start`, tell examples/services.json where your servers are, and swap the tags to move:
//   "cache": [{ "id": "a", "host": "127.0.0.1", "port": 6379, "tags": ["primary"] }]
import { connect } from '@spock/client';
import { spockRedis } from '@spock/ioredis';
import { Redis } from 'ioredis';

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());

const service = process.argv[2] ?? 'cache';
const diplomat = await connect({ signal: stop.signal });
const redis = new Redis({
	...spockRedis({ diplomat, service, tags: ['primary'] }),
	// A command waits for two attempts to connect, and not for ioredis' twenty.
	maxRetriesPerRequest: 2,
	// A primary that was made a replica refuses to write: connect again, and send the command again.
	reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
});
redis.on('error', (error) => console.log(`not connected: ${error.message}`));

while (!stop.signal.aborted) {
	try {
		const count = await redis.incr('visits');
		console.log(`visit ${count} counted at port ${redis.stream.remotePort}`);
	} catch (error) {
		console.log(`visit not counted: ${error.message}`);
	}
	await new Promise((resolve) => setTimeout(resolve, 200));
}
redis.disconnect();
await diplomat.drain();
