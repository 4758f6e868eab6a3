import type { IncomingMessage } from 'node:http';

import { isObject } from '@spock/protocol/internal';

import {
	OWNER_META,
	type RegistrationCatalogue,
	type RegistrationName,
	type Sighting,
} from '../../foundation/registration-place.ts';
import { WatchLoop } from '../../watch/watch-loop.ts';
import { quote } from './client/consul-call.ts';
import { type ConsulQuestion, sendRequest } from './client/consul-client.ts';
import { notJson, refuseFiltered } from './client/consul-error.ts';
import type { ConsulHttp } from './http/consul-http.ts';
import { type AgentCheck, maintenanceIdOf, renewedCheck } from './instance-checks.ts';
import { APP_META } from './service-definition.ts';
import type { HealthEntry } from './watches/health-entry.ts';
import { readAnsweredIndex } from './watches/read-answer.ts';
import type { RestoreWatches } from './watches/restore-watch.ts';

/** For all addresses together: the app waits for its registration. */
const LOOK_MS = 3000;
const NODE_CHECK = 'serfHealth';
/** The datacenter of the agent, whichever one is asked for lookups. */
const AGENTS_OWN = '';

interface NodeCheck extends AgentCheck {
	readonly CheckID?: string;
}

/** What Consul's servers publish of the registrations of one sidecar. Source: https://developer.hashicorp.com/consul/api-docs/health */
export class ConsulCatalogue implements RegistrationCatalogue {
	readonly #http: ConsulHttp;
	readonly #restores: RestoreWatches;

	constructor(http: ConsulHttp, restores: RestoreWatches) {
		this.#http = http;
		this.#restores = restores;
	}

	look({ id, service, owner }: RegistrationName, avoided: number): Promise<readonly Sighting[]> {
		const filter = `Service.ID == ${quote(id)} and ${ownedBy(owner)}`;
		const question = this.#question(service, { consistent: '', filter }, (response, body) => {
			const sightings = readSightings(response, body);
			// Whether it stands there is unknown to a token that may not see it.
			if (sightings.length === 0) refuseFiltered(response);
			return sightings;
		});
		return this.#http.call(question, { first: this.#otherThan(avoided), timeoutMs: LOOK_MS, urgent: 'write' });
	}

	isNodeWell(node: string, avoided: number): Promise<boolean> {
		const path = `/health/node/${encodeURIComponent(node)}`;
		const question: ConsulQuestion<boolean> = {
			parameters: { ...this.#place(), consistent: '', filter: `CheckID == "${NODE_CHECK}"` },
			send: (client, common) => sendRequest(client, common, { method: 'GET', path }),
			read: (response, body) => {
				if (!Array.isArray(body)) throw notJson(response);
				if (body.length === 0) refuseFiltered(response);
				return body.some((check: NodeCheck) => check.Status !== 'critical');
			},
		};
		return this.#http.call(question, { first: this.#otherThan(avoided), timeoutMs: LOOK_MS, urgent: 'write' });
	}

	async nodeHost(node: string, avoided: number): Promise<string | undefined> {
		const question: ConsulQuestion<string | undefined> = {
			parameters: { ...this.#place(), filter: `Node == ${quote(node)}` },
			send: (client, common) => sendRequest(client, common, { method: 'GET', path: '/catalog/nodes' }),
			read: (response, body) => {
				if (!Array.isArray(body)) throw notJson(response);
				if (body.length === 0) refuseFiltered(response);
				const [found] = body.filter(isObject) as { readonly Address?: string }[];
				return found?.Address || undefined;
			},
		};
		return this.#http.call(question, { first: this.#otherThan(avoided), timeoutMs: LOOK_MS });
	}

	watch(
		{ service, owner }: { readonly service: string; readonly owner: string },
		avoided: () => number,
		seen: (sightings: readonly Sighting[]) => void,
	): () => void {
		const { clock } = this.#http;
		const { dc: _, ...read } = this.#http.readParameters() as Record<string, string>;
		const question = this.#question(service, { ...read, filter: ownedBy(owner) }, (response, body) => ({
			...readAnsweredIndex(response),
			value: readSightings(response, body),
		}));
		const ask = this.#http.blocking(question, undefined, () => this.#otherThan(avoided()));
		const loop: WatchLoop<readonly Sighting[]> = new WatchLoop<readonly Sighting[]>({
			fetch: (index, signal) => {
				this.#restores.asks(AGENTS_OWN, loop, index);
				return ask(index, signal);
			},
			isSame: (before, after) => JSON.stringify(before) === JSON.stringify(after),
			answered: seen,
			// It goes on by itself, and a renewal that fails looks as well.
			failed: () => undefined,
			clock,
		});
		loop.start();
		return () => {
			loop.stop();
			this.#restores.leave(AGENTS_OWN, loop);
		};
	}

	#question<T>(
		service: string,
		parameters: Readonly<Record<string, string>>,
		read: (response: IncomingMessage, body: unknown) => T,
	): ConsulQuestion<T> {
		return {
			parameters: { ...this.#place(), ...parameters },
			send: (client, common) => client.health.service({ ...common, service }),
			read,
		};
	}

	/** An agent registers in its own datacenter, whichever one is asked for lookups. */
	#place(): Record<string, string> {
		const { dc: _, ...place } = this.#http.placeParameters();
		return place;
	}

	#otherThan(avoided: number): number {
		return (avoided + 1) % this.#http.addressCount;
	}
}

function readSightings(response: IncomingMessage, body: unknown): readonly Sighting[] {
	if (!Array.isArray(body)) throw notJson(response);
	return body.filter(isObject).map((entry) => sightingOf(entry as HealthEntry & { readonly Checks?: NodeCheck[] }));
}

function sightingOf({
	Node,
	Service,
	Checks,
}: HealthEntry & { readonly Checks?: readonly NodeCheck[] | null }): Sighting {
	const id = Service?.ID ?? '';
	const checks: Readonly<Record<string, NodeCheck>> = Object.fromEntries(
		(Checks ?? []).map((check) => [check.CheckID ?? '', check]),
	);
	const isNodeLost = checks[NODE_CHECK]?.Status === 'critical';
	const app = Service?.Meta?.[APP_META];
	const maintenance = checks[maintenanceIdOf(id)];
	return {
		id,
		node: Node?.Node ?? '',
		nodeHost: Node?.Address ?? '',
		host: Service?.Address || (Node?.Address ?? ''),
		port: Service?.Port ?? 0,
		isNodeLost,
		isServed: !isNodeLost && renewedCheck(id, checks)?.Status !== 'critical',
		...(app !== undefined && { app }),
		...(maintenance !== undefined && { maintenance: maintenance.Notes ?? '' }),
	};
}

function ownedBy(owner: string): string {
	return `Service.Meta["${OWNER_META}"] == ${quote(owner)}`;
}
