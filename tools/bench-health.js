// `npm run bench health`: what `sidecar health` costs, in processor time, beside an empty script of the same Node and the other small
// commands, their runs taken turn by turn. Needs bash. `--runs N` (40), `--node PATH` for another Node, `--max-ms N` fails above it.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { ensureBuilt, ensureInstalled, fail, root, say } from './prepare.js';

const { values } = parseArgs({
	options: {
		runs: { type: 'string', default: '40' },
		node: { type: 'string', default: process.execPath },
		'max-ms': { type: 'string' },
	},
});
const runs = Number(values.runs);
if (!Number.isInteger(runs) || runs < 1) fail(`--runs must be a whole number from 1, not ${values.runs}`, 2);

ensureInstalled();
ensureBuilt();

const directory = mkdtempSync(join(tmpdir(), 'spock-bench-health-'));
const socket = join(directory, 's.sock');
const bin = join(root, 'packages/sidecar/bin/sidecar.js');
const empty = join(directory, 'empty.js');
writeFileSync(empty, '');
const services = join(directory, 'services.json');
writeFileSync(services, '{"services":{"barista":[{"host":"1.2.3.4","port":8765}]}}');

/** Processor time of one run in ms, user and system, as the kernel accounts it: bash asks `getrusage` for its children. */
function processorMs(args) {
	const script = 'TIMEFORMAT="%3U %3S"; time "$@" >/dev/null';
	const { status, stderr } = spawnSync('bash', ['-c', script, 'bash', values.node, ...args], { encoding: 'utf8' });
	const [, user, system] = /(\d+[.,]\d+) (\d+[.,]\d+)\s*$/.exec(stderr) ?? [];
	if (status !== 0 || system === undefined) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
	return (Number(user.replace(',', '.')) + Number(system.replace(',', '.'))) * 1000;
}

const median = (numbers) => [...numbers].sort((left, right) => left - right)[Math.floor(numbers.length / 2)];

const commands = {
	'node with an empty script': [empty],
	'sidecar health': [bin, 'health', '--socket', socket],
	'sidecar get barista': [bin, 'get', 'barista', '--socket', socket],
	'sidecar --version': [bin, '--version'],
};
const sidecar = spawn(values.node, [bin, 'start', '--socket', socket, '--services', services, '--log-format', 'json'], {
	stdio: ['ignore', 'pipe', 'inherit'],
	env: { ...process.env, CONSUL_HTTP_ADDR: '' },
});
try {
	// Its first lines say that it listens; what comes later is read, too, or it would wait for us.
	const isUp = await Promise.race([once(sidecar.stdout, 'data'), once(sidecar, 'exit').then(() => false)]);
	if (isUp === false) fail('the sidecar ended');
	sidecar.stdout.resume();
	// Once for what lies in no cache yet.
	for (const args of Object.values(commands)) processorMs(args);
	const taken = new Map(Object.keys(commands).map((name) => [name, []]));
	for (let run = 0; run < runs; run++) {
		for (const [name, args] of Object.entries(commands)) taken.get(name).push(processorMs(args));
	}
	say(
		`processor time in ms, ${runs} runs each in turn, ${spawnSync(values.node, ['--version'], { encoding: 'utf8' }).stdout.trim()}`,
	);
	for (const [name, times] of taken) {
		say(
			`${name.padEnd(27)} median ${median(times).toFixed(1).padStart(6)}   least ${Math.min(...times)
				.toFixed(1)
				.padStart(6)}`,
		);
	}
	const health = median(taken.get('sidecar health'));
	if (values['max-ms'] !== undefined && !(health <= Number(values['max-ms']))) {
		fail(`sidecar health took ${health.toFixed(1)} ms of processor time; ${values['max-ms']} are allowed`);
	}
} finally {
	sidecar.kill('SIGTERM');
	rmSync(directory, { recursive: true, force: true });
}
