// Kills a publisher five times and a consumer once, in the middle of their work, and counts: no order is missing.
//   node examples/events/main.js
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const directory = await mkdtemp(join(tmpdir(), 'orders-'));
const env = { ...process.env, SPOCK_SOCKET: join(directory, 'sidecar.sock') };
const bin = createRequire(import.meta.url)
	.resolve('@spock/sidecar/package.json')
	.replace('package.json', 'bin/sidecar.js');
const start = ['start', '--backend', 'local', '--events', join(directory, 'events'), '--log-level', 'error'];
const sidecar = spawn(process.execPath, [bin, ...start], { env, stdio: 'inherit' });

const fileOf = (name) => fileURLToPath(new URL(name, import.meta.url));
/** The last order of each publisher that was on disk, as it was told. */
const persisted = new Map();
/** How often each order was billed. */
const billed = new Map();

function startConsumer(diesAfter) {
	const consumer = fork(fileOf('consumer.js'), [diesAfter], { env });
	consumer.on('message', ({ run, number }) => {
		const order = `${run} ${number}`;
		billed.set(order, (billed.get(order) ?? 0) + 1);
	});
	return consumer;
}

try {
	let consumer = startConsumer(200);
	consumer.on('exit', () => {
		console.log('the consumer was killed, and starts again');
		consumer = startConsumer(0);
	});
	for (let run = 1; run <= 5; run++) {
		const publisher = fork(fileOf('publisher.js'), [`publisher-${run}`], { env });
		publisher.on('message', (number) => {
			persisted.set(`publisher-${run}`, number);
			if (number >= 100 * run) publisher.kill('SIGKILL');
		});
		await once(publisher, 'close');
		console.log(`publisher ${run} was killed`);
	}
	const missing = () =>
		[...persisted].flatMap(([run, last]) =>
			Array.from({ length: last }, (_, index) => `${run} ${index + 1}`).filter((order) => !billed.has(order)),
		);
	while (missing().length > 0) await new Promise((resolve) => setTimeout(resolve, 100));
	console.log('every order that was on disk is billed: 0 missing');
	consumer.removeAllListeners('exit').kill();
} finally {
	sidecar.kill();
	await once(sidecar, 'exit');
	await rm(directory, { recursive: true });
}
