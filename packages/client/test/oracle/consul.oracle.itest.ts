import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import {
	findConsul,
	type RealConsul,
	type RunningProcess,
	startConsul,
	startSidecar,
	tempSocket,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ConsulDirect } from './consul-direct.ts';
import { ForeignNoise } from './foreign-noise.ts';
import { FreezingProxy } from './freezing-proxy.ts';
import { type OracleReport, runOracle } from './oracle-run.ts';
import { RegisteringApps } from './registering-apps.ts';
import { RegistryWorkload } from './registry-workload.ts';
import { type Spoil, ViewFleet } from './view-fleet.ts';

const count = (name: string, fallback: number): number => Number(process.env[`SPOCK_ORACLE_${name}`] || fallback);
const SEED = count('SEED', Math.floor(Math.random() * 2 ** 31));
const SECONDS = count('SECONDS', 60);
const HOLDING = { services: count('SERVICES', 40), clients: count('CLIENTS', 20), durationMs: SECONDS * 1000 };
/** Agreement comes within a second or two; a busy machine is slow and not wrong. Less than what is held back is held: 10 s. */
const AGREEMENT_MS_MAX = count('AGREEMENT_MS', 8000);
/**
 * The same with little room at Consul: most questions are polled, three for each service at each sidecar, which are few enough to be confirmed
 * in time while foreign services change all the time. With a fifth of the queries most cannot.
 */
const POLLING = { services: 80, clients: 8, durationMs: Math.round(SECONDS / 4) * 1000 };
const LITTLE_ROOM = ['--consul-held-max', '10'];
const FEW_QUERIES = [...LITTLE_ROOM, '--consul-polls-max', '600'];
/** What is up to N/45 s late for N that are polled is so by itself; here fresh lookups of the views take turns before it. */
const POLLING_AGREEMENT_MS_MAX = count('POLLING_AGREEMENT_MS', 30_000);
/** With a fifth of the queries. */
const SCARCE_AGREEMENT_MS_MAX = 3 * POLLING_AGREEMENT_MS_MAX;
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
			announce('oracle', HOLDING);
			const report = await watchConsul({ seed: SEED, ...HOLDING, withApps: true });
			print('oracle', HOLDING, report);
			expectAgreement(report);
			expect(report.rounds).toBeGreaterThan(1);
			expect(report.compared).toBeGreaterThanOrEqual(report.rounds * HOLDING.services * HOLDING.clients);
		},
		PATIENCE_MS,
	);

	it.each([
		['as many queries as by default', 'polling', LITTLE_ROOM, POLLING_AGREEMENT_MS_MAX],
		['few queries', 'polling-few', FEW_QUERIES, SCARCE_AGREEMENT_MS_MAX],
	])(
		'of services that are polled with %s agree in the end, and until then are marked as old',
		async (_, name, flags, agreementMsMax) => {
			announce(`oracle, ${name}`, POLLING);
			using direct = new ConsulDirect(consul.url);
			await using noise = new ForeignNoise(direct);
			const report = await watchConsul({
				...{ seed: SEED, ...POLLING, flags, agreementMsMax, mayBeOld: true },
				afterEach: () => noise.toggle(),
				ended: (logs) => {
					for (const log of logs) expect(log).toContain('some are polled');
				},
			});
			print(`oracle-${name}`, POLLING, report);
			expectAgreement(report);
			expect(noise.edits).toBeGreaterThan(0);
			expect(report.rounds).toBeGreaterThan(1);
			expect(report.compared).toBeGreaterThanOrEqual(report.rounds * POLLING.services * POLLING.clients);
			if (flags === FEW_QUERIES) expect(report.old).toBeGreaterThan(0);
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

	it(
		'that are old, and say that they were confirmed after the change, are found',
		async () => {
			using direct = new ConsulDirect(consul.url);
			await using noise = new ForeignNoise(direct);
			const report = await watchConsul({
				...{ seed: 7, ...POLLING, durationMs: 60_000, flags: FEW_QUERIES, mayBeOld: true, spoil: confirmedNow },
				agreementMsMax: SCARCE_AGREEMENT_MS_MAX,
				afterEach: () => noise.toggle(),
			});
			expect(report.divergences.join('\n')).toContain('it says that it was confirmed');
		},
		PATIENCE_MS,
	);
});

/** Claims of an old snapshot that the registry has confirmed it just now. */
const confirmedNow: Spoil = (snapshot) =>
	snapshot.source === 'live' ? snapshot : { ...snapshot, verifiedAt: Date.now() };

/** The name of what fails is how to see it again. */
function expectAgreement({ divergences }: OracleReport): void {
	expect(divergences.join('\n\n'), `again: npm run suite -- oracle --seed ${SEED} --seconds ${SECONDS}`).toBe('');
}

interface Watched {
	readonly seed: number;
	readonly services: number;
	readonly clients: number;
	readonly durationMs: number;
	readonly agreementMsMax?: number;
	/** Where the two sidecars ask. Default: at Consul itself. */
	readonly urls?: readonly string[];
	/** Of both sidecars. */
	readonly flags?: readonly string[];
	/** Apps register in the same services, through a sidecar of their own. */
	readonly withApps?: boolean;
	readonly mayBeOld?: boolean;
	/** What goes wrong on purpose with the snapshots of the views. */
	readonly spoil?: Spoil;
	readonly afterFirst?: () => void;
	readonly afterEach?: () => void;
	/** Called at the end with what the sidecars have logged. */
	readonly ended?: (logs: readonly string[]) => void;
}

async function watchConsul({
	seed,
	services,
	clients,
	urls,
	flags = [],
	withApps = false,
	spoil,
	ended,
	...options
}: Watched): Promise<OracleReport> {
	using direct = new ConsulDirect(consul.url);
	const workload = new RegistryWorkload(seed, services);
	const owned: AsyncDisposable[] = [];
	const own = <T extends AsyncDisposable>(one: T): T => {
		owned.unshift(one);
		return one;
	};
	try {
		const paths: string[] = [];
		const sidecars: RunningProcess[] = [];
		for (const url of urls ?? [consul.url, consul.url]) {
			const { path } = own(await tempSocket());
			sidecars.push(own(await startSidecar(path, ['--backend', 'consul', '--consul', url, ...flags])));
			paths.push(path);
		}
		const questions = workload.questionsOf.bind(workload);
		const fleet = own(await ViewFleet.start(paths, clients, workload.services, questions, spoil));
		const run = { agreementMsMax: AGREEMENT_MS_MAX, ...options, consul: direct, workload };
		const start = async (): Promise<RegisteringApps> => {
			const { path } = own(await tempSocket());
			return own(await RegisteringApps.start({ consul: direct, workload, seed, path }));
		};
		const apps = withApps ? await start() : undefined;
		const views = [...fleet.views, ...(apps?.views ?? [])];
		const report = await runOracle({ ...run, views, ...(apps && { more: () => apps.burst() }) });
		if (apps !== undefined) expect(apps.looks).toBeGreaterThan(0);
		ended?.(sidecars.map((sidecar) => sidecar.stdout()));
		return report;
	} finally {
		for (const one of owned) await one[Symbol.asyncDispose]();
	}
}

type Size = Pick<Watched, 'services' | 'clients' | 'durationMs'>;

function announce(name: string, { services, clients, durationMs }: Size): void {
	process.stdout.write(`${name}: seed ${SEED}, ${durationMs / 1000} s, ${services} services, ${clients} clients\n`);
}

function print(name: string, settings: Size, report: OracleReport): void {
	const { convergence, allAgreed, divergences, ...counts } = report;
	const reports = fileURLToPath(new URL('../../../../reports/', import.meta.url));
	mkdirSync(reports, { recursive: true });
	const written = JSON.stringify({ seed: SEED, ...settings, ...report }, null, '\t');
	writeFileSync(join(reports, `${name}.json`), `${written}\n`);
	process.stdout.write(
		`${JSON.stringify(counts)}\nms from a change to the watches that show it: ${JSON.stringify(convergence)}\n` +
			`ms until all views agreed: ${JSON.stringify(allAgreed)}\n${divergences.length} divergences (again: --seed ${SEED})\n`,
	);
}
