import { setTimeout as delay } from 'node:timers/promises';

import { waitFor } from '@spock/testkit';
import type { ConsulCluster } from '@spock/testkit/consul-cluster';
import { expect } from 'vitest';

import { serviceName } from './addressing.ts';
import { BareWatch } from './bare-watch.ts';
import { reportFault } from './fault-report.ts';
import { LookupFleet } from './lookup-fleet.ts';
import { apply, type Operation, putInstance, readServices } from './registry.ts';
import { SidecarBeside } from './sidecar-beside.ts';

/**
 * Within this time after Consul itself is back every client must agree with it, in milliseconds: what the product
 * promises. A machine that is much too small for the suite may be given more, by SPOCK_CLUSTER_AGREEMENT_MS.
 */
const AGREEMENT_MS_MAX = Number(process.env['SPOCK_CLUSTER_AGREEMENT_MS'] || 2000);
/** How long the suite waits, so that the time is known where the promise is not kept. */
const AGREEMENT_MS_WAITED = 45_000;
/** An agent gives up the stream from a server that stands still after some 40 s. */
const STREAM_MS_WAITED = 75_000;
/** Services that are also followed by bare blocking queries. */
const BARE_MAX = 20;
const WRITE_MS_MAX = 30_000;
/** Between two changes while a fault lasts, and how long one of them may hang. */
const CHURN_MS = 100;
const CHURN_MS_MAX = 1000;
/** Fewer lookups than this in a scenario prove nothing. */
const LOOKUPS_MIN = 10_000;

/** What was not confirmed for so long is not called live. */
const LIVE_AGE_MS_MAX = 10_000;
/** An answer may be so much older than it looks, for the lag of a server, and once a second it is looked what is too old. */
const UNCONFIRMED_MS_MAX = 2000;

/** A part of a fault, after which Consul works again and all clients must agree with it. */
export interface FaultStep {
	/** Does the harm, lets it last, and mends it as far as it is to be mended here. */
	readonly harm: () => Promise<void>;
	/** False: Consul, or the way to it, does not work after this step, so that there is nothing to agree with. Default true. */
	readonly agrees?: boolean;
	/** What is special about it, for the log. */
	readonly label?: string;
	/** Changes what the clients have to agree about, when Consul works again. Default: an instance of each changing service. */
	readonly change?: () => Promise<void>;
	/**
	 * What tells that Consul itself is back: that the agent answers a consistent read (the default), or also that bare
	 * blocking queries at the agent show the change. Those are later, by more than a minute at times, where the agent is fed by
	 * a stream from a server that has gone silent: nothing tells the agent, until its keep-alive fails.
	 */
	readonly backWhen?: 'read' | 'blocking query';
	/** False: nothing else is changed while the harm lasts. Default true: services change as often as Consul takes it. */
	readonly churn?: boolean;
}

/** Services by number. */
export interface FaultServices {
	/** Every client looks all of these up, and all of these must be agreed about. */
	readonly lookedUp: readonly number[];
	/** Those that change while a fault lasts and after it: they have two instances at least. */
	readonly changing: readonly number[];
}

/** How the clients came to agree with Consul. */
interface Agreed {
	readonly ms: number;
	/** The same of a bare blocking query; null if it did not see the change before the clients agreed. */
	readonly bareMs: number | null;
	readonly wrongPicks: number;
}

/** A cluster, a sidecar, 32 clients that look up without pause, and what they must live through. */
export class FaultSite implements AsyncDisposable {
	readonly cluster: ConsulCluster;
	readonly sidecar: SidecarBeside;
	readonly #fleet: LookupFleet;
	readonly #bare: readonly BareWatch[];
	readonly #services: FaultServices;
	#round = 0;

	private constructor(cluster: ConsulCluster, sidecar: SidecarBeside, fleet: LookupFleet, services: FaultServices) {
		this.cluster = cluster;
		this.sidecar = sidecar;
		this.#fleet = fleet;
		this.#services = services;
		const followed = services.changing.slice(0, BARE_MAX);
		this.#bare = followed.map((service) => new BareWatch(cluster.agent, service));
	}

	/** Starts sidecar, with these options besides, and clients. The services must be registered; the cluster is not owned. */
	static async start(
		cluster: ConsulCluster,
		services: FaultServices,
		sidecarOptions?: readonly string[],
	): Promise<FaultSite> {
		const sidecar = await SidecarBeside.start(cluster, sidecarOptions);
		try {
			const fleet = await LookupFleet.start(sidecar.path, services.lookedUp.map(serviceName));
			return new FaultSite(cluster, sidecar, fleet, services);
		} catch (error) {
			const log = sidecar.log();
			await sidecar[Symbol.asyncDispose]();
			throw new Error(`the clients did not start; the sidecar says:\n${log}`, { cause: error });
		}
	}

	/** Runs a fault to its end, writes its row of the table, and asserts the promises. Gives the longest age that was told, in ms. */
	async prove(fault: string, steps: readonly FaultStep[], note?: string): Promise<number> {
		await this.cluster.whenWhole();
		await this.#fleet.tally();
		const agreed: Agreed[] = [];
		try {
			for (const step of steps) {
				await this.#while(step.churn === false ? undefined : () => this.#changeOne(), step.harm);
				if (step.agrees !== false) agreed.push(await this.#agree(step));
			}
		} catch (error) {
			const { examples: _, ...counts } = await this.#fleet.tally();
			reportFault({ fault, ...counts, agreementMs: null, bareMs: null, ...(note && { note }) });
			throw error;
		}
		const { examples, ...counts } = await this.#fleet.tally();
		const { lookups, failed, wrong } = counts;
		const agreementMs = Math.max(0, ...agreed.map(({ ms }) => ms));
		const bareMs = agreed.some((one) => one.bareMs === null)
			? null
			: Math.max(0, ...agreed.map((one) => one.bareMs ?? 0));
		reportFault({ fault, ...counts, agreementMs, bareMs, ...(note && { note }) });
		const why = `${examples.join('\n')}\nthe sidecar says:\n${this.sidecar.log()}`;
		expect({ failed, wrong }, why).toEqual({ failed: 0, wrong: 0 });
		expect(
			Math.max(0, ...agreed.map(({ wrongPicks }) => wrongPicks)),
			'services whose lookups give other instances than their snapshot has',
		).toBe(0);
		expect(lookups).toBeGreaterThan(LOOKUPS_MIN);
		expect(agreementMs, 'ms from Consul being back until all clients agree with it').toBeLessThanOrEqual(
			AGREEMENT_MS_MAX,
		);
		return counts.longestAgeMs;
	}

	/**
	 * Changes more than may be asked for in time, and asserts that what no client knows of is not called live any more once it has not
	 * been confirmed for so long, and that no lookup fails.
	 */
	async proveHonesty(): Promise<void> {
		await this.#fleet.tally();
		await this.changeAll();
		const expected = await readServices(this.cluster.agent, this.#services.lookedUp.map(serviceName));
		await delay(LIVE_AGE_MS_MAX);
		const { differing } = await waitFor(
			'services that have changed unseen to be called last known',
			async () => {
				const compared = await this.#fleet.compare(expected);
				return compared.differingLive === 0 ? compared : undefined;
			},
			UNCONFIRMED_MS_MAX + AGREEMENT_MS_MAX,
		);
		const { lookups, failed, wrong, examples } = await this.#fleet.tally();
		expect({ failed, wrong }, examples.join('\n')).toEqual({ failed: 0, wrong: 0 });
		expect(lookups).toBeGreaterThan(LOOKUPS_MIN);
		expect(differing, 'services that changed unseen: without any this proves nothing').toBeGreaterThan(0);
	}

	/** Something of every service that changes, as soon as Consul takes it. Default: the first instance gets a new round. */
	async changeAll(change: (service: number, round: string) => Operation[] = editFirst): Promise<void> {
		const round = this.nextRound();
		const operations = this.#services.changing.flatMap((service) => change(service, round));
		await waitFor(
			'Consul to take a change',
			() =>
				apply(this.cluster.agent, operations).then(
					() => true,
					() => false,
				),
			WRITE_MS_MAX,
		);
	}

	nextRound(): string {
		return String(++this.#round);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const bare of this.#bare) bare[Symbol.dispose]();
		await this.#fleet[Symbol.asyncDispose]();
		await this.sidecar[Symbol.asyncDispose]();
	}

	async #agree({ change = () => this.changeAll(), backWhen = 'read', label }: FaultStep): Promise<Agreed> {
		const { agent } = this.cluster;
		const backMs = await this.cluster.whenConsistent();
		await change();
		const changedMs = Math.max(backMs, Date.now());
		let expected: Readonly<Record<string, string>> = {};
		const read = async () => {
			expected = await readServices(agent, this.#services.lookedUp.map(serviceName));
			return expected;
		};
		const waitedMs = backWhen === 'read' ? AGREEMENT_MS_WAITED : STREAM_MS_WAITED;
		const { sinceMs, wrongPicks } = await this.#fleet.whenAgreed(read, waitedMs).catch((cause: unknown) => {
			throw new Error(`${(cause as Error).message}\nthe sidecar says:\n${this.sidecar.log()}`, { cause });
		});
		const bareSinceMs = this.#bareSinceMs(expected);
		const bareMs = bareSinceMs === undefined ? null : Math.max(0, bareSinceMs - changedMs);
		// Where a bare query does not show it yet, the clients were ahead of it, and so of Consul's own word that it is back.
		const excusedMs = backWhen === 'blocking query' ? (bareMs ?? Number.POSITIVE_INFINITY) : 0;
		const ms = Math.max(0, sinceMs - changedMs - excusedMs);
		if (label !== undefined) process.stdout.write(`${label}: agreement after ${ms} ms\n`);
		return { ms, bareMs, wrongPicks };
	}

	/** When the last of the bare queries came to see what is expected; undefined if one of them sees something else. */
	#bareSinceMs(expected: Readonly<Record<string, string>>): number | undefined {
		const since = this.#bare.map((bare) => bare.sinceMs(expected));
		return since.every((ms) => ms !== undefined) ? Math.max(0, ...since) : undefined;
	}

	/** Does something, and another thing again and again until it is done. */
	async #while(again: (() => Promise<void>) | undefined, doing: () => Promise<void>): Promise<void> {
		let isDone = false;
		const repeating = (async () => {
			while (!isDone && again !== undefined) {
				await again();
				await delay(CHURN_MS);
			}
		})();
		try {
			await doing();
		} finally {
			isDone = true;
			await repeating;
		}
	}

	/** A change of some service by way of some agent, which may well fail: that is what faults do. */
	async #changeOne(): Promise<void> {
		const { servers, agent } = this.cluster;
		const running = [...servers, agent].filter(({ isRunning }) => isRunning);
		const through = running[Math.floor(Math.random() * running.length)];
		const { changing } = this.#services;
		const service = changing[Math.floor(Math.random() * changing.length)] as number;
		const operations = putInstance(service, 1, this.nextRound());
		await through
			?.ask({ method: 'PUT', path: '/v1/txn', body: operations, timeoutMs: CHURN_MS_MAX })
			.catch(() => undefined);
	}
}

function editFirst(service: number, round: string): Operation[] {
	return putInstance(service, 0, round);
}
