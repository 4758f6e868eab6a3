// Follows a configuration until Ctrl-C: a bad new value is reported, and the last good one stays in force.
//   node examples/node-app/config.js [KEY] [--once]
import { connect } from '@spock/client';

const args = process.argv.slice(2);
const key = args.find((word) => !word.startsWith('--')) ?? 'barista/limits';
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());

/** What the app needs of the value. A schema of Zod, Valibot or ArkType may stand in its place. */
function parseLimits(text) {
	const limits = JSON.parse(text);
	if (!Number.isInteger(limits.cupsAtOnce)) throw new Error('cupsAtOnce must be a whole number');
	return limits;
}

const diplomat = await connect({ signal: stop.signal });
try {
	const limits = diplomat.config(key, {
		parse: parseLimits,
		default: { cupsAtOnce: 1 },
		onError: (error) => console.log(`still ${limits.value.cupsAtOnce} at once: ${error.message}`),
	});
	await limits.ready();
	if (args.includes('--once')) {
		console.log(`${limits.value.cupsAtOnce} at once (${limits.source})`);
	} else {
		// The value now, and then each new one.
		for await (const { cupsAtOnce } of limits.changes({ signal: stop.signal })) console.log(`${cupsAtOnce} at once`);
	}
} finally {
	await diplomat.drain();
}
