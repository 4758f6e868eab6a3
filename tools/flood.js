// What a client with one call in flight notices of connections that flood, each in a process of its own.
// Usage: node tools/flood.js [flags of `sidecar start`], after a build; --frames-per-turn-max 1000000 is as if there were no turns.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MEASURED_MS = 1500;
const QUESTION = '"func":"getService","data":{"service":"barista"}}\n';
const FLOODS = [
	['getService', 1, 1_000_000],
	['getService', 1, 0],
	['getService', 4, 0],
	['nobodyKnowsIt', 1, 0],
];

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Writes as fast as it is read, or as many bytes in a second as it is told, until it is ended. */
function flood(path, func, bytesPerSecond) {
	const socket = connect(path);
	let received = 0;
	socket.on('data', (chunk) => {
		received += chunk.length;
	});
	const line = (id) => `{"id":${id},${QUESTION.replace('getService', func)}`;
	const block = Array.from({ length: 1000 }, (_, id) => line(1000 + id)).join('');
	if (bytesPerSecond > 0) {
		const count = Math.round(bytesPerSecond / 100 / line(1000).length);
		setInterval(() => socket.write(block.slice(0, count * line(1000).length)), 10);
	} else {
		const fill = () => {
			while (socket.write(block));
		};
		socket.on('drain', fill);
		fill();
	}
	process.on('SIGTERM', () => {
		process.stdout.write(String(received));
		process.exit();
	});
}

async function politeLatency(path) {
	const socket = connect(path);
	await once(socket, 'connect');
	const tookUs = [];
	const endMs = performance.now() + MEASURED_MS;
	for (let id = 0; performance.now() < endMs; id++) {
		const startMs = performance.now();
		socket.write(`{"id":${id},${QUESTION}`);
		await once(socket, 'data');
		tookUs.push((performance.now() - startMs) * 1000);
	}
	socket.destroy();
	tookUs.sort((left, right) => left - right);
	const at = (part) => Math.round(tookUs[Math.floor(tookUs.length * part)]);
	return `p50 ${at(0.5)} µs, p90 ${at(0.9)}, p99 ${at(0.99)}`;
}

async function measure(flags) {
	const directory = mkdtempSync('/tmp/spock-flood-');
	const path = join(directory, 'sidecar.sock');
	const services = join(directory, 'services.json');
	writeFileSync(services, '{"services":{"barista":[{"host":"1.2.3.4","port":8765}]}}');
	const bin = fileURLToPath(new URL('../packages/sidecar/bin/sidecar.js', import.meta.url));
	const args = [bin, 'start', '--socket', path, '--backend', 'local', '--services', services, '--log-level', 'error'];
	const sidecar = spawn(process.execPath, [...args, ...flags], { stdio: 'inherit' });
	while (!existsSync(path)) await sleep(20);
	await politeLatency(path);
	process.stdout.write(`alone: ${await politeLatency(path)}\n`);
	for (const [func, count, bytesPerSecond] of FLOODS) {
		const floods = Array.from({ length: count }, () =>
			spawn(process.execPath, [fileURLToPath(import.meta.url), '--flood', path, func, String(bytesPerSecond)], {
				stdio: ['ignore', 'pipe', 'inherit'],
			}),
		);
		const received = floods.map(async ({ stdout }) => Number((await stdout.toArray()).join('')) / 1e6);
		await sleep(500);
		const latency = await politeLatency(path);
		for (const one of floods) one.kill('SIGTERM');
		const megabytes = (await Promise.all(received)).map((bytes) => bytes.toFixed(1)).join(', ');
		const rate = bytesPerSecond > 0 ? `${bytesPerSecond / 1e6} MB/s` : 'as fast as it can';
		process.stdout.write(`${count} x ${func}, ${rate}: ${latency}; answers: ${megabytes} MB\n`);
	}
	sidecar.kill('SIGKILL');
	rmSync(directory, { recursive: true });
}

const [mode, ...rest] = process.argv.slice(2);
if (mode === '--flood') flood(rest[0], rest[1], Number(rest[2]));
else await measure(process.argv.slice(2));
