import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { findConsul, type RealConsul, startConsul, startSidecar, tempSocket } from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ConsulDirect } from './consul-direct.ts';
import { FreezingProxy } from './freezing-proxy.ts';
import { type OracleReport, runOracle } from './oracle-run.ts';
import { RegistryWorkload } from './registry-workload.ts';
import { ViewFleet } from './view-fleet.ts';

const count = (name: string, fallback: number): number => Number(process.env[`SPOCK_ORACLE_${name}`] || fallback);
const SEED = count('SEED', Math.floor(Math.random() * 2 ** 31));
const SECONDS = count('SECONDS', 60);
const SERVICES = count('SERVICES', 40);
const CLIENTS = count('CLIENTS', 20);
/** Agreement comes within a second or two; a busy machine is slow and not wrong. Less than what is held back is held: 10 s. */
const AGREEMENT_MS_MAX = count('AGREEMENT_MS', 8000);
/** Start, end, and the last comparison. */
const PATIENCE_MS = (SECONDS + 180) * 1000;

let consul: RealConsul;

beforeAll(async () => {
	// The default limit of connections from one address is for one app, and these are many.
	consul = await startConsul({ binary: findConsul(process.env), hcl: ['limits { http_max_conns_per_client = 2000 }'] });
}, 120_000);

afterAll(() => consul[Symbol.asyncDispose]());

describe('views of a real Consul', () => {
	it(
		'agree with what Consul itself says after every quiet moment',
		async () => {
			process.stdout.write(`oracle: seed ${SEED}, ${SECONDS} s, ${SERVICES} services, ${CLIENTS} clients\n`);
			const report = await watchConsul({
				seed: SEED,
				services: SERVICES,
				clients: CLIENTS,
				durationMs: SECONDS * 1000,
			});
			print(report);
			expect(report.divergences.join('\n\n')).toBe('');
			expect(report.rounds).toBeGreaterThan(1);
			expect(report.compared).toBeGreaterThanOrEqual(report.rounds * SERVICES * CLIENTS);
		},
		PATIENCE_MS,
	);

	it(
		'that stand still behind a proxy which freezes one service are found: the oracle can fail',
		async () => {
			const workload = new RegistryWorkload(7, 4);
			const [service = ''] = workload.services.slice(-1);
			await using proxy = await FreezingProxy.start(consul.url, service);
			const report = await watchConsul({
				...{ seed: 7, services: 4, clients: 4, durationMs: 60_000 },
				...{ agreementMsMax: 4000, urls: [consul.url, proxy.url], afterFirst: () => proxy.freeze() },
			});
			expect(report.divergences.join('\n')).toContain(`of {"service":"${service}"`);
		},
		PATIENCE_MS,
	);
});

interface Watched {
	readonly seed: number;
	readonly services: number;
	readonly clients: number;
	readonly durationMs: number;
	readonly agreementMsMax?: number;
	/** Where the two sidecars ask. Default: at Consul itself. */
	readonly urls?: readonly string[];
	readonly afterFirst?: () => void;
}

async function watchConsul({ seed, services, clients, urls, ...options }: Watched): Promise<OracleReport> {
	using direct = new ConsulDirect(consul.url);
	const workload = new RegistryWorkload(seed, services);
	const owned: AsyncDisposable[] = [];
	const own = <T extends AsyncDisposable>(one: T): T => {
		owned.unshift(one);
		return one;
	};
	try {
		const paths: string[] = [];
		for (const url of urls ?? [consul.url, consul.url]) {
			const { path } = own(await tempSocket());
			own(await startSidecar(path, ['--backend', 'consul', '--consul', url]));
			paths.push(path);
		}
		const questions = workload.questionsOf.bind(workload);
		const fleet = own(await ViewFleet.start(paths, clients, workload.services, questions));
		return await runOracle({ agreementMsMax: AGREEMENT_MS_MAX, ...options, consul: direct, workload, fleet });
	} finally {
		for (const one of owned) await one[Symbol.asyncDispose]();
	}
}

function print(report: OracleReport): void {
	const { convergence, allAgreed, divergences, ...counts } = report;
	const reports = fileURLToPath(new URL('../../../../reports/', import.meta.url));
	mkdirSync(reports, { recursive: true });
	const settings = { seed: SEED, seconds: SECONDS, services: SERVICES, clients: CLIENTS };
	writeFileSync(join(reports, 'oracle.json'), `${JSON.stringify({ ...settings, ...report }, null, '\t')}\n`);
	process.stdout.write(
		`${JSON.stringify(counts)}\nms from a change to the watches that show it: ${JSON.stringify(convergence)}\n` +
			`ms until all views agreed: ${JSON.stringify(allAgreed)}\n${divergences.length} divergences (again: --seed ${SEED})\n`,
	);
}
