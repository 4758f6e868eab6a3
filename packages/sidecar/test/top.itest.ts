import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import {
	freePort,
	type RunningProcess,
	runSidecar,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { atTerminal } from './at-terminal.ts';

const LEFT = '\u001b[?25h\u001b[?1049l';

interface Site extends AsyncDisposable {
	readonly place: TempSocket;
	readonly sidecar: RunningProcess;
	/** Address of the admin server. */
	readonly admin: string;
}

async function site(): Promise<Site> {
	const place = await tempSocket();
	const services = join(place.directory, 'services.json');
	const list = { barista: [{ host: '1.2.3.4', port: 8765 }], till: [{ host: '1.2.3.5', port: 1, status: 'critical' }] };
	writeFileSync(services, JSON.stringify({ services: list }));
	const sidecar = await startSidecar(place.path, [
		...['--backend', 'local', '--services', services, '--admin', '127.0.0.1:0'],
	]);
	const admin = await waitFor(
		'the admin server',
		() => /"address":"([^"]+)","msg":"admin port/.exec(sidecar.stdout())?.[1],
	);
	// Somebody who watches: else nothing is there to be shown.
	const watching = ['barista', 'till'].map((name) => runSidecar(['watch', name, '--socket', place.path]));
	for (const one of watching) await waitFor('the watch', () => one.stdout() !== '');
	const close = async (): Promise<void> => {
		for (const one of [...watching, sidecar]) await one[Symbol.asyncDispose]();
		await place[Symbol.asyncDispose]();
	};
	return { place, sidecar, admin, [Symbol.asyncDispose]: close };
}

const topAtTerminal = ({ admin }: Site, env?: Readonly<Record<string, string>>): RunningProcess =>
	atTerminal(['top', '--admin', admin], env);

/** A server of HTTP at a port of its own. */
class HttpServer {
	readonly address: string;
	readonly #server: Server;

	private constructor(server: Server) {
		this.#server = server;
		this.address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
	}

	static async listen(respond: RequestListener): Promise<HttpServer> {
		const server = createServer(respond).listen(0, '127.0.0.1');
		await once(server, 'listening');
		return new HttpServer(server);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#server.close();
		this.#server.closeAllConnections();
		await once(this.#server, 'close');
	}
}

describe('sidecar top', () => {
	it('where the output is no terminal it prints everything once', async () => {
		await using here = await site();
		await using top = runSidecar(['top', '--admin', here.admin]);
		const { exitCode, stdout, stderr } = await top.finished;
		expect([exitCode, stderr]).toEqual([0, '']);
		expect(stdout).toMatch(
			/^@spock\/sidecar\/\S+ {2}pid \d+ .*serving, ready.*\nservices\n.*\ntill .*0\/1.*\nbarista .*1\/1/s,
		);
		expect(stdout).not.toContain('\u001b');
		await using json = runSidecar(['top', '--once', '--json'], { env: { SPOCK_ADMIN: here.admin } });
		expect(JSON.parse((await json.finished).stdout)).toMatchObject({ overview: { ready: true, services: 2 } });
	});

	it('without an admin server it says what was expected, and what to do', async () => {
		await using place = await tempSocket();
		// A port that nothing listens at, now.
		const port = await freePort();
		await using nothing = runSidecar(['top', '--admin', `127.0.0.1:${port}`]);
		const { exitCode, stderr } = await nothing.finished;
		expect([exitCode, stderr]).toEqual([
			3,
			`sidecar: no admin server at 127.0.0.1:${port}: no process listens there. Start the sidecar with --admin 127.0.0.1:${port}, or name its address with --admin or SPOCK_ADMIN\n`,
		]);
		await using wrong = runSidecar(['top'], { env: { SPOCK_ADMIN: place.path } });
		expect(await wrong.finished).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('must be HOST:PORT') });
	});

	it.each([
		['refuses', 403, 'go away', 1, 'answered 403: go away'],
		['has no such page', 404, 'no', 1, 'is not the admin server of a sidecar'],
		['answers something else', 200, '<html>', 1, 'is not the admin server of a sidecar'],
	])('a server that %s is reported', async (_what, status, body, code, text) => {
		await using server = await HttpServer.listen((_request, response) => response.writeHead(status).end(body));
		await using top = runSidecar(['top', '--admin', server.address]);
		expect(await top.finished).toMatchObject({ exitCode: code, stderr: expect.stringContaining(text) });
	});

	it('has a time limit for a server that never answers', async () => {
		await using server = await HttpServer.listen(() => undefined);
		await using top = runSidecar(['top', '--timeout', '100', '--admin', server.address]);
		const { exitCode, stderr } = await top.finished;
		expect([exitCode, stderr]).toEqual([
			3,
			`sidecar: the admin server at ${server.address} does not answer: it sent nothing for 100 ms; --timeout allows more\n`,
		]);
	});

	it('takes the whole terminal, follows its keys, and gives it back at q', async () => {
		await using here = await site();
		await using top = topAtTerminal(here);
		await waitFor('the services', () => top.stdout().includes('barista'));
		expect(top.stdout()).toContain('\u001b[?1049h');
		top.child.stdin?.write('\u001b[B\r');
		await waitFor('the instance of the second service', () => top.stdout().includes('1.2.3.4:8765'));
		top.child.stdin?.write('\u001b\t');
		await waitFor('the next tab', () => top.stdout().includes('OUT B/S'));
		top.child.stdin?.write('q');
		const { exitCode, stdout } = await top.finished;
		expect([exitCode, stdout.trimEnd().endsWith(LEFT)]).toEqual([0, true]);
	});

	it('erases a line before its text: after a full line the last column would go', async () => {
		await using here = await site();
		await using top = topAtTerminal(here);
		await waitFor('the last line', () => top.stdout().includes('q quit'));
		const lines = top
			.stdout()
			.split(/(?=\u001b\[\d+;1H)/)
			.slice(1);
		expect(lines.length).toBeGreaterThan(6);
		for (const line of lines) expect(line).toMatch(/^\u001b\[\d+;1H\u001b\[K(?!.*\u001b\[K)/s);
		top.child.stdin?.write('q');
		expect(await top.finished).toMatchObject({ exitCode: 0 });
	});

	it('says that the sidecar is gone, keeps what it knew, and goes on when it is back', async () => {
		await using here = await site();
		await using top = topAtTerminal(here, { NO_COLOR: '1' });
		await waitFor('the services', () => top.stdout().includes('barista'));
		await here.sidecar.stop('SIGKILL');
		await waitFor('the trouble', () => top.stdout().includes('no admin server at'));
		const before = top.stdout().length;
		await using _next = await startSidecar(here.place.path, ['--backend', 'local', '--admin', here.admin]);
		await waitFor('the next one', () => top.stdout().slice(before).includes('q quit'));
		expect(top.stdout()).not.toMatch(/\u001b\[3\dm/);
		top.child.stdin?.write('\u0003');
		expect(await top.finished).toMatchObject({ exitCode: 0 });
	});

	it.each(['SIGTERM', 'SIGHUP'] as const)('gives the terminal back at a %s', async (signal) => {
		await using here = await site();
		await using top = topAtTerminal(here);
		await waitFor('the services', () => top.stdout().includes('barista'));
		// The command is the only child of `script`.
		process.kill(Number.parseInt(readFileSync(`/proc/${top.pid}/task/${top.pid}/children`, 'utf8'), 10), signal);
		const { stdout } = await top.finished;
		expect(stdout).toContain(LEFT);
	});
});
