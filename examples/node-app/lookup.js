// Looks a service up ten times, then follows its changes until Ctrl-C. With --once it stops after the look-ups.
//   node examples/node-app/lookup.js [SERVICE] [--once]
import { connect } from '@spock/client';

const args = process.argv.slice(2);
const service = args.find((word) => !word.startsWith('--')) ?? 'barista';
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());

// Waits for a sidecar that is still starting; says what it found at the path if none comes. On Node 24, and with a
// compiler, `await using diplomat = …` takes the place of the try and its finally.
const diplomat = await connect({ signal: stop.signal });
try {
	for (let turn = 0; turn < 10; turn++) {
		// The first one subscribes; the others are picked in this process from the snapshot that was pushed.
		const { host, port, stale } = await diplomat.getService(service);
		console.log(`${service} is at ${host}:${port}${stale ? ' (last known)' : ''}`);
	}
	if (!args.includes('--once')) {
		for await (const snapshot of diplomat.watchService(service, { signal: stop.signal })) {
			const places = snapshot.instances.map(({ host, port, status }) => `${host}:${port} ${status}`);
			console.log(`revision ${snapshot.revision}, ${snapshot.source}: ${places.join(', ') || 'no instance'}`);
		}
	}
} finally {
	await diplomat.drain();
}
