import type { CheckStatus, InstanceStatus, ServiceInstance } from '@spock/protocol';

import { rememberChecks } from '../instance-checks.ts';
import { sortInstances } from '../snapshot-diff.ts';

interface HealthCheck {
	readonly CheckID?: string;
	readonly Name?: string;
	readonly Status?: string;
}

/** The parts of one entry of /v1/health/service that are used. */
export interface HealthEntry {
	readonly Node?: {
		readonly Node?: string;
		readonly Address?: string;
		readonly Datacenter?: string;
		readonly Meta?: Readonly<Record<string, string>> | null;
	};
	readonly Service?: {
		readonly ID?: string;
		readonly Address?: string;
		readonly Port?: number;
		readonly Tags?: readonly string[] | null;
		readonly Meta?: Readonly<Record<string, string>> | null;
		readonly Weights?: { readonly Passing?: number; readonly Warning?: number } | null;
	};
	readonly Checks?: readonly HealthCheck[] | null;
}

const MAINTENANCE_CHECK = /^_(?:node|service)_maintenance/;

/**
 * The instances of an answer of /v1/health/service, sorted and frozen. Their checks are remembered beside them, for explain.
 * A check's output is never looked at: it changes all the time, says nothing that a reader acts on, and may hold secrets.
 * Source: https://developer.hashicorp.com/consul/api-docs/health#list-service-instances-for-service
 */
export function readHealthEntries(entries: readonly HealthEntry[]): readonly ServiceInstance[] {
	return sortInstances(entries.map(readHealthEntry));
}

/** One instance. The node's name is part of its name, because a service's id is unique only within its agent. */
function readHealthEntry({ Node = {}, Service = {}, Checks }: HealthEntry): ServiceInstance {
	const status = worstStatus(Checks ?? []);
	const weights = Service.Weights;
	const weight = (status === 'warning' ? weights?.Warning : weights?.Passing) ?? 1;
	const instance: ServiceInstance = Object.freeze({
		instance: `${Node.Node ?? ''}/${Service.ID ?? ''}`,
		host: Service.Address || Node.Address || '',
		port: Service.Port ?? 0,
		weight,
		status,
		tags: Object.freeze([...(Service.Tags ?? [])]),
		meta: Object.freeze({ ...Service.Meta }),
		zone: Service.Meta?.['zone'] || Node.Meta?.['zone'] || null,
		datacenter: Node.Datacenter || null,
	});
	rememberChecks(instance, (Checks ?? []).map(readCheck));
	return instance;
}

function readCheck({ CheckID = '', Name = '', Status = 'unknown' }: HealthCheck): CheckStatus {
	// A status of `maintenance` exists in the catalog; the agent's own maintenance is a critical check of a certain name.
	return { id: CheckID, name: Name, status: MAINTENANCE_CHECK.test(CheckID) ? 'maintenance' : Status };
}

/** Maintenance over critical over warning over passing; no checks are passing; an unknown status is critical. */
function worstStatus(checks: readonly HealthCheck[]): InstanceStatus {
	let worst: InstanceStatus = 'passing';
	for (const { CheckID = '', Status } of checks) {
		if (Status === 'passing') continue;
		if (Status === 'maintenance' || MAINTENANCE_CHECK.test(CheckID)) return 'maintenance';
		if (Status !== 'warning') worst = 'critical';
		else if (worst === 'passing') worst = 'warning';
	}
	return worst;
}
