import { connect, type Diplomat, type Registration } from '@spock/client';
import type { RegisterServiceData, ReportedStatus } from '@spock/protocol';
import { type RunningProcess, startSidecar } from '@spock/testkit';

import type { AgentCheck, AgentService, ConsulDirect } from './consul-direct.ts';
import type { Change } from './planned-instance.ts';
import type { RegistryWorkload } from './registry-workload.ts';
import type { Standing, View } from './view-fleet.ts';
import { ADDRESSES, CHECK_IDS, FULL_META, PORTS, STATUSES, seeded, TAGS } from './workload-values.ts';

const APPS = 8;
/** How long a call may wait for a sidecar that starts again, in milliseconds. */
const CALL_TIMEOUT_MS = 30_000;
const CHANGES_MAX = 4;
/** From one look whether an app is missing to the next. */
const LOOK_MS = 50;
/** An app's own metadata may be 60 pairs: docs/PROTOCOL.md. */
const META_MAX = 60;

/** What an app has asked for, and what an operator has done to its instance. */
interface App {
	readonly id: string;
	readonly diplomat: Diplomat;
	/** As the last change that was drawn leaves it. */
	wanted: RegisterServiceData | undefined;
	/** While it may not be missing. */
	registration: Registration | undefined;
	status: ReportedStatus;
	inMaintenance: boolean;
	/** The id of another program's check of it. */
	further: string | undefined;
}

/** Options of {@link RegisteringApps.start}. */
export interface RegisteringAppsOptions {
	readonly consul: ConsulDirect;
	readonly workload: RegistryWorkload;
	readonly seed: number;
	/** Where their sidecar listens. */
	readonly path: string;
}

/**
 * Apps that register through a sidecar of their own in the services of the workload, while an operator switches maintenance and another
 * program adds checks. Its views are what the agent must have: what they have registered, and all that others have as these wrote it.
 */
export class RegisteringApps implements AsyncDisposable {
	readonly views: readonly View[];
	readonly #options: RegisteringAppsOptions;
	readonly #draw: () => number;
	readonly #services: readonly string[];
	readonly #apps: readonly App[];
	readonly #end = new AbortController();
	readonly #watching: Promise<void>;
	#sidecar: RunningProcess;
	/** The first that was seen, for good. */
	#fault = '';
	#looks = 0;

	private constructor(options: RegisteringAppsOptions, sidecar: RunningProcess, clients: readonly Diplomat[]) {
		this.#options = options;
		this.#draw = seeded(options.seed + 1);
		this.#sidecar = sidecar;
		this.#services = options.workload.services.filter((name) => /^[\w.]+$/.test(name));
		this.#apps = clients.map((diplomat, at) => ({
			...{ id: `app:${at}`, diplomat, registration: undefined, wanted: undefined },
			...{ status: 'passing', inMaintenance: false, further: undefined },
		}));
		const query = { service: this.#services[0] as string };
		this.views = [{ name: 'the agent, with what apps registered', query, compare: () => this.#compare() }];
		this.#watching = this.#watch();
	}

	static async start(options: RegisteringAppsOptions): Promise<RegisteringApps> {
		const sidecar = await startIt(options);
		const clients = await Promise.all(Array.from({ length: APPS }, () => connect({ path: options.path })));
		return new RegisteringApps(options, sidecar, clients);
	}

	/** How often it was seen that no registered app is missing. */
	get looks(): number {
		return this.#looks;
	}

	/** Some changes in a row. */
	burst(): Change[] {
		return Array.from({ length: Math.ceil(this.#draw() * CHANGES_MAX) }, () => {
			const change = this.#change();
			const apply = (consul: ConsulDirect): Promise<void> =>
				change.apply(consul).catch((error: unknown) => {
					this.#fault ||= `${change.what}: ${String(error)}`;
				});
			return { ...change, apply };
		});
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#end.abort();
		await this.#watching;
		await Promise.all(this.#apps.map(({ diplomat }) => diplomat.drain()));
		await this.#sidecar[Symbol.asyncDispose]();
	}

	#change(): Change {
		const app = this.#pick(this.#apps);
		const kind = this.#draw();
		if (app.wanted === undefined) return this.#register(app, this.#pick(this.#services));
		if (kind < 0.2) return this.#maintain(app);
		if (kind < 0.35) return this.#check(app);
		if (kind < 0.5) return this.#report(app);
		if (kind < 0.58) return this.#deregister(app);
		if (kind < 0.7) return this.#register(app, this.#pick(this.#services));
		if (kind < 0.82) return this.#register(app, app.wanted.service);
		// An operator does not know that an app registers again, or that its sidecar starts again.
		if (kind < 0.94) return together(this.#maintain(app), this.#register(app, app.wanted.service));
		return together(this.#restart(), this.#maintain(app), this.#register(app, app.wanted.service));
	}

	#register(app: App, service: string): Change {
		const from = app.wanted?.service ?? service;
		const meta = this.#draw() < 0.05 ? FULL_META.slice(0, META_MAX) : TAGS.slice(0, 2).map((tag) => [tag, tag]);
		const wanted: RegisterServiceData = {
			...{ id: app.id, service, port: this.#pick(PORTS), status: this.#pick(STATUSES) },
			host: this.#pick(ADDRESSES) || '10.0.0.3',
			tags: TAGS.filter((tag) => tag !== '' && this.#draw() < 0.3),
			meta: Object.fromEntries(meta) as Record<string, string>,
		};
		app.status = wanted.status as ReportedStatus;
		app.wanted = wanted;
		return {
			what: `${app.id} registers as ${service}, ${wanted.status}`,
			services: [from, service],
			mayEmpty: from !== service,
			apply: async () => {
				app.registration = await app.diplomat.register(wanted, { timeoutMs: CALL_TIMEOUT_MS });
			},
		};
	}

	#report(app: App): Change {
		const status = this.#pick(STATUSES);
		app.status = status;
		return {
			what: `${app.id} reports ${status}`,
			services: servicesOf(app),
			apply: async () => app.registration?.report(status, '', { timeoutMs: CALL_TIMEOUT_MS }),
		};
	}

	#deregister(app: App): Change {
		const services = servicesOf(app);
		Object.assign(app, { wanted: undefined, inMaintenance: false, further: undefined });
		return {
			...{ what: `${app.id} deregisters`, services, mayEmpty: true },
			apply: async () => {
				const { registration } = app;
				app.registration = undefined;
				await registration?.drain({ timeoutMs: CALL_TIMEOUT_MS });
			},
		};
	}

	#maintain(app: App): Change {
		app.inMaintenance = !app.inMaintenance;
		const path = `/v1/agent/service/maintenance/${app.id}?enable=${app.inMaintenance}&reason=oracle`;
		return {
			...{ what: `maintenance ${app.inMaintenance} ${app.id}`, services: servicesOf(app) },
			apply: (consul) => consul.put(path),
		};
	}

	#check(app: App): Change {
		const isAdded = app.further === undefined;
		const checkId = app.further ?? this.#pick(CHECK_IDS)(app.id);
		app.further = isAdded ? checkId : undefined;
		const body = { ID: checkId, Name: 'other', ServiceID: app.id, Status: 'critical', TTL: '60m' };
		return {
			...{ what: `${isAdded ? 'check' : 'no check'} ${checkId} of ${app.id}`, services: servicesOf(app) },
			apply: (consul) =>
				isAdded
					? consul.put('/v1/agent/check/register', body)
					: consul.put(`/v1/agent/check/deregister/${encodeURIComponent(checkId)}`),
		};
	}

	#restart(): Change {
		return {
			what: 'the sidecar of the apps is killed, and starts again',
			services: [],
			apply: async () => {
				await this.#sidecar.stop('SIGKILL');
				this.#sidecar = await startIt(this.#options);
			},
		};
	}

	/** An app that is registered is never missing at the agent. */
	async #watch(): Promise<void> {
		while (!this.#end.signal.aborted) {
			const before = this.#apps.map(({ registration }) => registration);
			const services = await this.#options.consul.servicesAtAgent('ID matches "^app:"');
			const missing = this.#apps.filter(({ id, registration }, at) => {
				return registration !== undefined && registration === before[at] && services[id] === undefined;
			});
			if (missing.length > 0) this.#fault ||= `missing while registered: ${missing.map(({ id }) => id).join(', ')}`;
			this.#looks++;
			await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
		}
	}

	async #compare(): Promise<Standing> {
		const { consul, workload } = this.#options;
		const [services, checks] = [await consul.servicesAtAgent(), await consul.checksAtAgent()];
		const faults = [
			...(this.#fault === '' ? [] : [this.#fault]),
			...workload.faultsAtAgent(services, checks),
			...this.#apps.flatMap((app) => faultsOf(app, services[app.id], checks)),
		];
		return faults.length === 0 ? { is: 'agreed', sinceMs: undefined } : { is: 'diverged', found: faults.join('\n') };
	}

	#pick<T>(choices: readonly T[]): T {
		return choices[Math.floor(this.#draw() * choices.length)] as T;
	}
}

function startIt({ consul, path }: RegisteringAppsOptions): Promise<RunningProcess> {
	return startSidecar(path, ['--backend', 'consul', '--consul', consul.url, '--owner', 'oracle']);
}

function together(...changes: readonly Change[]): Change {
	return {
		what: changes.map(({ what }) => what).join(', and at once '),
		services: changes.flatMap(({ services }) => services),
		mayEmpty: changes.some(({ mayEmpty = false }) => mayEmpty),
		apply: async (consul) => {
			await Promise.all(changes.map((change) => change.apply(consul)));
		},
	};
}

function servicesOf({ wanted }: App): readonly string[] {
	return wanted === undefined ? [] : [wanted.service];
}

/** Exactly what the app registered, and what others have there as they wrote it. */
function faultsOf(app: App, found: AgentService | undefined, checks: readonly AgentCheck[]): readonly string[] {
	const { id, wanted, status, inMaintenance, further } = app;
	const own = checks.filter(({ ServiceID }) => ServiceID === id).map((one) => `${one.CheckID} ${one.Status}`);
	const is = found === undefined ? 'absent' : print(found, own);
	if (wanted === undefined) return is === 'absent' ? [] : [`${id} is ${is}; it has deregistered`];
	const { service, host = '', port, tags = [], meta = {} } = wanted;
	const must = [`spock:ttl:${id} ${status}`];
	if (inMaintenance) must.push(`_service_maintenance:${id} critical`);
	if (further !== undefined) must.push(`${further} critical`);
	const wants = print({ Service: service, Address: host, Port: port, Tags: tags, Meta: meta }, must);
	return is === wants ? [] : [`${id} is ${is}; wanted ${wants}`];
}

function print({ Service, Address, Port, Tags, Meta }: AgentService, checks: readonly string[]): string {
	const meta = Object.entries(Meta).filter(([name]) => !name.startsWith('spock-'));
	return JSON.stringify([Service, Address, Port, Tags, meta.sort(), [...checks].sort()]);
}
