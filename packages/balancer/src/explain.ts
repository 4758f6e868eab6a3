import {
	type CheckStatus,
	type ExplainReply,
	type Inspection,
	isStale,
	type ServiceInstance,
	type ServiceQuery,
	type ServiceSnapshot,
} from '@spock/protocol';

import { hasPort, servedInstances } from './served-instances.ts';

/** The inspection of a source that has only a snapshot. */
export function inspectionOf(snapshot: ServiceSnapshot): Inspection {
	const state = isStale(snapshot) ? 'stale' : 'fresh';
	return { snapshot, state, error: null, held: null, changedAt: null, readers: 0, instances: new Map() };
}

/**
 * For every instance whether it gets work, and why; and how the source stands. `query` is normalised. Who watches is for
 * the caller to add.
 */
export function explain(query: ServiceQuery, inspection: Inspection): ExplainReply {
	const { snapshot, state, error, held, changedAt, instances: facts } = inspection;
	const { refused = [], refusedCount = refused.length } = inspection;
	const instances = snapshot?.instances ?? [];
	const panic = snapshot?.panic === true;
	const served = new Set(servedInstances(snapshot ?? { instances }));
	return {
		...query,
		state,
		source: snapshot?.source ?? null,
		ageMs: snapshot?.ageMs ?? 0,
		verifiedAt: snapshot?.verifiedAt ?? 0,
		changedAt,
		revision: snapshot?.revision ?? 0,
		error,
		held,
		panic,
		instances: instances.map((instance) => {
			const { host, port, weight, status, zone } = instance;
			const place = { host, port, ...(zone !== null && { zone }) };
			const { changedAt = null, checks = [] } = facts.get(instance.instance) ?? {};
			const included = served.has(instance);
			const reason = reasonFor(instance, checks, included);
			return { instance: instance.instance, ...place, weight, status, included, reason, changedAt, checks };
		}),
		instanceCount: instances.length,
		...(refusedCount > 0 && { refused, refusedCount }),
		frameBytes: 0,
		watchers: [],
		watcherCount: 0,
	};
}

function reasonFor(instance: ServiceInstance, checks: readonly CheckStatus[], included: boolean): string {
	const health = healthOf(instance.status, checks);
	if (!hasPort(instance)) return `${health}; it has no port`;
	const { status, weight } = instance;
	const isHealthy = status === 'passing' || status === 'warning';
	if (isHealthy && !included) return `${health}; its weight is ${weight}, and others have more`;
	if (!isHealthy && included) return `${health}; served anyway, because too few are healthy (panic)`;
	return status === 'warning' ? `${health}: it still gets work` : health;
}

function healthOf(status: ServiceInstance['status'], checks: readonly CheckStatus[]): string {
	// The worst check comes first: it is the one that decides.
	const worst = checks[0] === undefined ? 'a check' : `the check ${JSON.stringify(checks[0].name || checks[0].id)}`;
	switch (status) {
		case 'passing':
			return 'all its checks pass';
		case 'warning':
			return `${worst} warns`;
		case 'critical':
			return `${worst} is critical`;
		case 'maintenance':
			return 'it is in maintenance';
	}
}
