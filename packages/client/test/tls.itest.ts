import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';

import { connect as connectDiplomat, type Diplomat, type DiplomatOptions, type SpockError } from '@spock/client';
import { type TlsOptions, tlsTransport } from '@spock/client/tls';
import {
	type IssuedCertificate,
	makeAuthority,
	type RunningProcess,
	runSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const authority = makeAuthority();

interface Secured extends AsyncDisposable {
	readonly place: TempSocket;
	readonly sidecar: RunningProcess;
	readonly port: number;
	/** The metric with its labels, as it stands on the admin port; 0 when it is not there. */
	metric(line: string): Promise<number>;
	connect(tls: TlsOptions | (() => TlsOptions), options?: DiplomatOptions): Promise<Diplomat>;
}

function write(place: TempSocket, name: string, text: string): string {
	const path = join(place.directory, name);
	// At once and whole, as a mounted secret changes.
	writeFileSync(`${path}.new`, text);
	renameSync(`${path}.new`, path);
	return path;
}

function logged(sidecar: RunningProcess, pattern: RegExp): string | undefined {
	return pattern.exec(sidecar.stdout())?.[1];
}

/** A sidecar of the command line that listens at tls://127.0.0.1. */
async function startSecured({ cert, key }: IssuedCertificate, clientCa?: string): Promise<Secured> {
	const place = await tempSocket();
	const files = ['--tls-cert', write(place, 'cert.pem', cert), '--tls-key', write(place, 'key.pem', key)];
	if (clientCa !== undefined) files.push('--tls-client-ca', write(place, 'ca.pem', clientCa));
	const services = write(place, 'services.json', '{"services":{"barista":[{"host":"1.2.3.4","port":8765}]}}');
	const sidecar = runSidecar([
		...['start', '--listen', 'tls://127.0.0.1:0', '--admin', '127.0.0.1:0', '--log-format', 'json', '--grace-ms', '0'],
		...['--backend', 'local', '--services', services, ...files],
	]);
	const port = await waitFor('the port', () => logged(sidecar, /"addresses":\["tls:\/\/127\.0\.0\.1:(\d+)"/));
	const admin = logged(sidecar, /"address":"(127\.0\.0\.1:\d+)"/);
	return {
		place,
		sidecar,
		port: Number(port),
		metric: async (line) => {
			const text = await (await fetch(`http://${admin}/metrics`)).text();
			return Number(
				text
					.split('\n')
					.find((one) => one.startsWith(`${line} `))
					?.split(' ')
					.at(-1) ?? 0,
			);
		},
		connect: (tls, options = {}) =>
			connectDiplomat({
				host: '127.0.0.1',
				port: Number(port),
				transport: tlsTransport(tls),
				readyTimeoutMs: 1500,
				retryDelayMsMin: 50,
				...options,
			}),
		[Symbol.asyncDispose]: async () => {
			await sidecar[Symbol.asyncDispose]();
			await place[Symbol.asyncDispose]();
		},
	};
}

async function refusal(connecting: Promise<Diplomat>): Promise<SpockError> {
	return connecting.then(
		async (diplomat) => {
			await diplomat.close();
			throw new Error('it was let in');
		},
		(error: SpockError) => error,
	);
}

describe('TLS', () => {
	it('carries lookups, pushes and a drain to a client that trusts the authority', async () => {
		await using secured = await startSecured(authority.issue());
		const diplomat = await secured.connect({ ca: authority.ca });
		expect(await diplomat.getService('barista')).toMatchObject({ host: '1.2.3.4', port: 8765 });
		const many = await Promise.all(Array.from({ length: 500 }, () => diplomat.request('ping', 'x'.repeat(2000))));
		expect(many).toHaveLength(500);
		await diplomat.drain();
	});

	it.each<[string, { request?: object; options?: TlsOptions; found: RegExp }]>([
		['another authority', { options: { ca: makeAuthority().ca }, found: /SIGNATURE|ISSUER|SELF_SIGNED/ }],
		['an expired certificate', { request: { endsInMs: -60_000 }, found: /CERT_HAS_EXPIRED/ }],
		['a certificate for another name', { request: { names: ['elsewhere.example'] }, found: /ALTNAME/ }],
	])('%s: the client says which fault it is, and the sidecar counts it', async (_name, { request, options, found }) => {
		await using secured = await startSecured(authority.issue(request));
		const error = await refusal(secured.connect({ ca: authority.ca, ...options }));
		expect(error).toMatchObject({ code: 'TIMEOUT', details: { found: 'tls' } });
		expect(error.message).toMatch(found);
		// With TLS 1.3 the sidecar's part of the handshake may be over before the client judges: then its connection was reset.
		await waitFor('the count', async () => {
			const ended = await Promise.all([
				secured.metric('spock_connections_closed_total{reason="error"}'),
				secured.metric('spock_connections_closed_total{reason="client"}'),
				secured.metric('spock_tls_handshakes_failed_total{reason="refused-by-client"}'),
				secured.metric('spock_tls_handshakes_failed_total{reason="closed"}'),
			]);
			return ended.some((count) => count > 0);
		});
		expect(await secured.metric('spock_connections')).toBe(0);
	});

	it('a client may end its side after its last request, and gets every answer', async () => {
		await using secured = await startSecured(authority.issue());
		const socket = connectTls({ host: '127.0.0.1', port: secured.port, ca: authority.ca });
		socket.allowHalfOpen = true;
		let text = '';
		socket.on('data', (chunk) => {
			text += chunk;
		});
		socket.end('{"id":1,"func":"ping"}\n{"id":2,"func":"getService","data":{"service":"barista"}}\n');
		await once(socket, 'end');
		expect(text.split('\n')).toHaveLength(3);
		await waitFor('the end', async () => (await secured.metric('spock_connections')) === 0);
	});

	it('a name of its own choice may be expected', async () => {
		await using secured = await startSecured(authority.issue({ names: ['sidecar.example'] }));
		const diplomat = await secured.connect({ ca: authority.ca, servername: 'sidecar.example' });
		await diplomat.drain();
	});

	it('mutual: without a certificate, or with one of another authority, nobody is let in', async () => {
		await using secured = await startSecured(authority.issue(), authority.ca);
		const diplomat = await secured.connect({ ca: authority.ca, ...authority.issue() });
		expect(await diplomat.getService('barista')).toMatchObject({ host: '1.2.3.4' });
		await diplomat.drain();
		const without = await refusal(secured.connect({ ca: authority.ca }));
		expect(without).toMatchObject({ code: 'TIMEOUT', details: { found: 'tls' } });
		expect(without.message).toMatch(/CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE|ALERT/);
		expect(await secured.metric('spock_tls_handshakes_failed_total{reason="no-certificate"}')).toBeGreaterThan(0);
		const stranger = makeAuthority();
		const foreign = await refusal(secured.connect({ ca: authority.ca, ...stranger.issue() }));
		expect(foreign).toMatchObject({ code: 'TIMEOUT' });
		const [refused, live] = await Promise.all([
			secured.metric('spock_tls_handshakes_failed_total{reason="bad-certificate"}'),
			secured.metric('spock_connections'),
		]);
		expect(refused).toBeGreaterThan(0);
		expect(live).toBe(0);
	});

	it('a plain client at a TLS port, and a TLS client at a plain one, are told what is likely', async () => {
		await using secured = await startSecured(authority.issue());
		const plain = await refusal(
			connectDiplomat({ host: '127.0.0.1', port: secured.port, readyTimeoutMs: 1000, retryDelayMsMin: 50 }),
		);
		expect(plain).toMatchObject({ code: 'TIMEOUT', details: { found: 'no answer' } });
		expect(plain.message).toContain('whether it wants TLS');
		await waitFor('the count', async () => {
			return (await secured.metric('spock_tls_handshakes_failed_total{reason="not-tls"}')) > 0;
		});
		await using open = runSidecar(['start', '--listen', '127.0.0.1:0', '--backend', 'local', '--log-format', 'json']);
		const port = await waitFor('the port', () => logged(open, /"addresses":\["127\.0\.0\.1:(\d+)"/));
		const secret = await refusal(secured.connect({ ca: authority.ca }, { port: Number(port) }));
		expect(secret).toMatchObject({ code: 'TIMEOUT', details: { found: 'tls' } });
		expect(secret.message).toMatch(/wrong version/i);
	});

	it('a client that never shakes hands is dropped', async () => {
		await using secured = await startSecured(authority.issue());
		const silent = createConnection({ host: '127.0.0.1', port: secured.port });
		silent.end('no hello of any kind\n');
		await new Promise((resolve) => silent.once('close', resolve).on('error', resolve).resume());
		await waitFor('the count', async () => {
			return (await secured.metric('spock_tls_handshakes_failed_total{reason="not-tls"}')) > 0;
		});
	});

	it('a new certificate is used without a restart, and a broken file changes nothing', async () => {
		await using secured = await startSecured(authority.issue());
		const first = await secured.connect({ ca: authority.ca });
		write(secured.place, 'cert.pem', 'no certificate');
		await waitFor('the complaint', () => secured.sidecar.stdout().includes('credentials are unusable'));
		await (await secured.connect({ ca: authority.ca })).drain();
		const second = makeAuthority('second');
		const { cert, key } = second.issue();
		write(secured.place, 'cert.pem', cert);
		write(secured.place, 'key.pem', key);
		await waitFor('the new one', () => secured.sidecar.stdout().includes('"msg":"credentials loaded"'));
		await (await secured.connect({ ca: second.ca })).drain();
		// Who is connected stays so.
		expect(await first.getService('barista')).toMatchObject({ host: '1.2.3.4' });
		await first.drain();
	});

	it('serves the commands as well', async () => {
		await using secured = await startSecured(authority.issue());
		const address = `tls://127.0.0.1:${secured.port}`;
		const ca = write(secured.place, 'trusted.pem', authority.ca);
		const got = await runSidecar(['get', 'barista', '--connect', address, '--tls-ca', ca]).finished;
		expect(got).toMatchObject({ exitCode: 0, stdout: '1.2.3.4:8765\n' });
		const distrusting = await runSidecar(['get', 'barista', '--connect', address]).finished;
		expect(distrusting.exitCode).toBe(3);
		expect(distrusting.stderr).toMatch(/certificate/);
	});
});
