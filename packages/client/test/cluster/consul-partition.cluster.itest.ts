import { setTimeout as delay } from 'node:timers/promises';

import { findConsul } from '@spock/testkit';
import {
	CLUSTER_SIZE,
	type ConsulCluster,
	type NamespaceNetwork,
	namespaceNetwork,
	startConsulCluster,
} from '@spock/testkit/consul-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { FaultSite } from './fault-site.ts';
import { apply, putInstance, putNodes } from './registry.ts';

const SERVICES = Array.from({ length: 20 }, (_, service) => service);
const INSTANCES = 3;
/** The client agent's machine, with the sidecar and its clients. */
const APP = CLUSTER_SIZE - 1;
/** Longer than it takes the members to give each other up. */
const LAST_MS = 8000;
/** Longer than a pulse and its deadline, and much shorter than the agent takes to notice by itself. */
const FOUND_MS = 16_000;
/** What is told with a lesser age may be an answer that came late, after the cable was put back. */
const LATE_MS_MAX = 10_000;

// Where no network can be made the scenarios still run, with agents that stand still in the place of cables that are cut,
// and say so: in their names, in the output and in the table.
const { network, refusal } = await makeNetwork();
const how = refusal === undefined ? '' : ` [by SIGSTOP, not by a cut: ${refusal}]`;

let cluster: ConsulCluster;
let site: FaultSite;

beforeAll(async () => {
	if (refusal !== undefined) process.stdout.write(`PARTITION NOT MADE, agents are stopped instead: ${refusal}\n`);
	cluster = await startConsulCluster({ binary: findConsul(process.env), ...(network && { network }) });
	await apply(cluster.agent, putNodes(INSTANCES));
	const instances = Array.from({ length: INSTANCES }, (_, instance) => instance);
	await apply(
		cluster.agent,
		SERVICES.flatMap((service) => instances.flatMap((instance) => putInstance(service, instance, '0'))),
	);
	site = await FaultSite.start(cluster, { lookedUp: SERVICES, changing: SERVICES });
});

afterAll(async () => {
	await site?.[Symbol.asyncDispose]();
	await cluster?.[Symbol.asyncDispose]();
});

describe('32 clients of a sidecar on a network that parts', () => {
	it(`live through a leader that is cut off from everybody${how}`, async () => {
		const leader = await cluster.leader();
		await site.prove(
			'partition: the leader alone',
			[
				{
					harm: async () => {
						await cut([leader]);
						await delay(LAST_MS);
					},
					// It is still cut off, and the agent may be fed by it.
					backWhen: 'blocking query',
				},
				{
					harm: async () => {
						await heal([leader]);
						await cluster.rejoin(leader);
						await cluster.whenWhole();
					},
				},
			],
			note(),
		);
	});

	it(`live through their machine being cut off from every server${how}`, async () => {
		// Without a network of its own the way to the servers cannot be cut: all of them stand still instead.
		const away = network === undefined ? [0, 1, 2, APP] : [APP];
		await site.prove(
			"partition: the app's machine from every server",
			[
				{
					harm: async () => {
						await cut(away);
						await delay(LAST_MS);
						await heal(away);
					},
					// The agent subscribes at its servers anew, some seconds later, and so long it answers with what it had.
					backWhen: 'blocking query',
				},
			],
			note(),
		);
	});

	it(`are told the age of what an agent remembers that has lost its servers${how}`, async () => {
		const away = network === undefined ? [0, 1, 2, APP] : [APP];
		const ageMs = await site.prove(
			"partition: the app's machine from every server, for longer than a pulse",
			[
				{
					harm: async () => {
						await cut(away);
						await delay(FOUND_MS);
						await heal(away);
					},
					backWhen: 'blocking query',
				},
			],
			note(),
		);
		expect(ageMs, `the longest age that was told; the sidecar says:\n${site.sidecar.log()}`).toBeGreaterThan(
			LATE_MS_MAX,
		);
	});
});

function note(): string | undefined {
	return refusal === undefined ? undefined : 'made by SIGSTOP: this machine allows no network namespace';
}

async function cut(agents: readonly number[]): Promise<void> {
	for (const agent of agents) {
		if (network === undefined) [...cluster.servers, cluster.agent][agent]?.pause();
		else await network.cut(agent);
	}
}

async function heal(agents: readonly number[]): Promise<void> {
	for (const agent of agents) {
		if (network === undefined) [...cluster.servers, cluster.agent][agent]?.resume();
		else await network.heal(agent);
	}
}

async function makeNetwork(): Promise<{ readonly network?: NamespaceNetwork; readonly refusal?: string }> {
	try {
		return { network: await namespaceNetwork(CLUSTER_SIZE) };
	} catch (error) {
		return { refusal: (error as Error).message };
	}
}
