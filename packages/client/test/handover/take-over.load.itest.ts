import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { type RunningProcess, runSidecar, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { CallLoad, loadServices } from './call-load.ts';

/** `npm run suite handover` asks for 200. */
const TURNS = Number(process.env['SPOCK_HANDOVER_TURNS'] ?? 5);
const CLIENTS = 4;
const IN_FLIGHT = 64;
const REPORTS = fileURLToPath(new URL('../../../../reports/', import.meta.url));

/** Keeps the figures of a full run: `npm run suite handover` prints them. */
function report(figures: Readonly<Record<string, unknown>>): void {
	if (process.env['SPOCK_HANDOVER_TURNS'] === undefined) return;
	mkdirSync(REPORTS, { recursive: true });
	writeFileSync(join(REPORTS, 'handover.json'), `${JSON.stringify(figures, null, '\t')}\n`);
}

it(
	`${TURNS} take-overs in a row under load: no call fails, no answer reaches another caller`,
	async () => {
		await using place = await tempSocket();
		const services = join(place.directory, 'services.json');
		writeFileSync(services, JSON.stringify({ services: loadServices() }));
		let current: RunningProcess = await startSidecar(place.path, ['--services', services]);
		await using load = await CallLoad.start({ path: place.path, retryDelayMsMax: 50 }, CLIENTS, IN_FLIGHT);
		const startedMs = performance.now();
		try {
			for (let turn = 0; turn < TURNS; turn++) {
				const before = load.figures().answered;
				const next = runSidecar(['start', '--take-over', '--socket', place.path, '--services', services]);
				const old = current;
				current = next;
				// It ends by itself, when its last client has gone: nobody has told it anything by a signal.
				expect(await Promise.race([old.finished, next.finished])).toMatchObject({ exitCode: 0, stderr: '' });
				expect(next.child.exitCode).toBe(null);
				await waitFor('calls that are answered by the next one', () => load.figures().answered > before);
			}
			const figures = load.figures();
			report({
				'take-overs': TURNS,
				clients: CLIENTS,
				'calls in flight': CLIENTS * IN_FLIGHT,
				seconds: Math.round((performance.now() - startedMs) / 1000),
				...figures,
			});
			expect(figures).toMatchObject({ failures: [], failed: 0, misdelivered: 0 });
			expect(load.clients.map((client) => client.status().reconnects)).toEqual(
				Array.from({ length: CLIENTS }, () => TURNS),
			);
			expect(readdirSync(place.directory).sort()).toEqual(['services.json', 'sidecar.sock', 'sidecar.sock.take-over']);
		} finally {
			await current[Symbol.asyncDispose]();
		}
	},
	60_000 + TURNS * 5000,
);
