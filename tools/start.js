// `npm start`: three small baristas, the sidecar on the embedded registry with the example services, a status page, and a log of
// events that is kept between starts. Further flags follow `--`. npm runs it by `exec`, so that a signal for npm, which npm passes on, ends it
// and not a shell around it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

import { ensureBuilt, ensureInstalled, fail, root, say } from './prepare.js';

const BARISTAS = ['barista-1', 'barista-2', 'barista-3'];
const STATUS_PAGE_PORT = 9464;
const STATUS_PAGE_PORTS = 20;
/** How soon the end of npm is noticed, which no event reports. */
const PARENT_CHECK_MS = 500;

ensureInstalled();
ensureBuilt();
// Only now, because it is built.
const { shellWord } = await import('../packages/protocol/dist/internal/index.js');

const flags = process.argv.slice(2);

/** The value of a flag, or of its variable; undefined where neither is given. */
function given(flag, variable) {
	const index = flags.findLastIndex((one) => one === flag || one.startsWith(`${flag}=`));
	if (index < 0) return process.env[variable];
	return flags[index] === flag ? flags[index + 1] : flags[index].slice(flag.length + 1);
}

/** The services of the examples, but for the baristas: those are real, and register themselves. */
function servicesFile() {
	const { services, keys } = JSON.parse(readFileSync(join(root, 'examples/services.json'), 'utf8'));
	const { barista: _, ...others } = services;
	const directory = join(root, 'node_modules/.cache/spock-start');
	mkdirSync(directory, { recursive: true });
	const path = join(directory, 'services.json');
	writeFileSync(path, JSON.stringify({ services: others, keys }, undefined, 2));
	return path;
}

/** The first port that is free, so that a second `npm start` has a page too. */
async function freeAdmin() {
	for (let port = STATUS_PAGE_PORT; port < STATUS_PAGE_PORT + STATUS_PAGE_PORTS; port++) {
		const server = createServer();
		const isFree = await new Promise((resolve) => {
			server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
		});
		if (!isFree) continue;
		server.close();
		await once(server, 'close');
		return `127.0.0.1:${port}`;
	}
	return undefined;
}

/** Starts a barista, and gives the line by which it says that it can be found. It ends when this process does. */
function startBarista(name, env) {
	const main = join(root, 'examples/node-app/barista.js');
	const child = spawn(process.execPath, [main, name], { env, stdio: ['pipe', 'pipe', 'inherit'] });
	// It may have ended by itself.
	child.stdin.on('error', () => undefined);
	// Where the sidecar cannot start, this process ends, and they with it.
	for (const one of [child, child.stdin, child.stdout]) one.unref();
	for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => child.stdin.end());
	return new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
}

/** Ends as by SIGTERM when the terminal is closed, and when npm is gone, which started this. */
function endWithTerminal() {
	const end = () => process.kill(process.pid, 'SIGTERM');
	process.once('SIGHUP', end);
	if (process.env.npm_lifecycle_event !== 'start') return;
	const parent = process.ppid;
	const check = setInterval(() => {
		if (process.ppid === parent) return;
		clearInterval(check);
		end();
	}, PARENT_CHECK_MS);
	check.unref();
}

/** What to try, where the baristas are; `given` is the socket that was named, which another terminal does not know. */
function tryThis(lines, admin, given) {
	const page = admin === undefined ? [] : [`  http://${admin}/   the status page, in a browser`];
	const at = given === undefined ? '' : ` --socket ${shellWord(given)}`;
	const variable = given === undefined ? '' : `SPOCK_SOCKET=${shellWord(given)} `;
	const sidecar = (command) => `  npx --no-install sidecar ${command}${at}`;
	return [
		'',
		...lines,
		'',
		'Try this in another terminal, in this folder:',
		sidecar('get barista'),
		sidecar('explain barista'),
		sidecar('kv get barista/motd'),
		sidecar(`events publish orders '{"total":5}'`),
		`  ${variable}node examples/undici/menu.js`,
		...page,
		'Ctrl-C ends everything.',
		'',
	].join('\n');
}

/** Ends with a word where a sidecar runs already: two would share its services file, and its baristas would find the other one. */
async function refuseSecond(path) {
	const client = connect(path);
	const isThere = await new Promise((resolve) => {
		client.once('connect', () => resolve(true)).once('error', () => resolve(false));
	});
	client.destroy();
	if (!isThere) return;
	fail(
		`a sidecar runs already at ${path}: end it, or give this one a path of its own: npm start -- --socket /tmp/another.sock`,
	);
}

const events = given('--events', 'SPOCK_EVENTS');
const admin = given('--admin', 'SPOCK_ADMIN');
const named = given('--socket', 'SPOCK_SOCKET');
const socket = named === undefined ? undefined : resolve(named);
const page = admin ?? (await freeAdmin());
const isStart = !flags.some((flag) => flag === '--help' || flag === '-h' || flag === '--print-config');
if (isStart) {
	if (!flags.includes('--take-over')) {
		const { defaultSocketAddress } = await import('../packages/protocol/dist/node/index.js');
		await refuseSecond(socket ?? defaultSocketAddress({ env: process.env, uid: process.getuid?.() }).path);
	}
	const env = { ...process.env, ...(socket !== undefined && { SPOCK_SOCKET: socket }) };
	void Promise.all(BARISTAS.map((name) => startBarista(name, env))).then((lines) => say(tryThis(lines, page, socket)));
	endWithTerminal();
}
process.argv.splice(
	2,
	0,
	...['start', '--backend', 'local', '--services', servicesFile()],
	// Not in the project: the path of the socket in it must be short.
	...(events === undefined ? ['--events', join(tmpdir(), `spock-events-${process.getuid?.() ?? 'user'}`)] : []),
	...(admin === undefined && page !== undefined ? ['--admin', page] : []),
	// What to try is the end of the first screen: `npm start -- --log-level info` logs what happens.
	...(isStart && given('--log-level', 'SPOCK_LOG_LEVEL') === undefined ? ['--log-level', 'warn'] : []),
);
// In this process and not in a child: Ctrl-C reaches the sidecar itself, which then stops cleanly.
await import('../packages/sidecar/bin/sidecar.js');
