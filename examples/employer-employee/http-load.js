// Requests to the employer, so many at a time, and what became of each.
import { Agent, get } from 'node:http';

/** One request: who did the work (undefined: it failed), when it began and ended, in ms of `performance.now`. */
function request(agent, port) {
	const startedMs = performance.now();
	return new Promise((resolve) => {
		const done = (employee) => resolve({ employee, startedMs, endedMs: performance.now() });
		get({ agent, host: '127.0.0.1', port }, async (response) => {
			let text = '';
			for await (const chunk of response.setEncoding('utf8')) text += chunk;
			done(response.statusCode === 200 ? text : undefined);
		}).on('error', () => done(undefined));
	});
}

/** Makes requests, `inFlight` at a time, until `isOver` says so; it is asked as each one ends, with all that have ended. */
export async function load({ port, inFlight, isOver }) {
	const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
	const samples = [];
	const worker = async () => {
		do samples.push(await request(agent, port));
		while (!isOver(samples));
	};
	await Promise.all(Array.from({ length: inFlight }, worker));
	agent.destroy();
	return samples;
}
