import type { AgentCheck, AgentService, ConsulDirect } from './consul-direct.ts';
import type { STATUSES } from './workload-values.ts';

/** One instance of the model: what the workload wrote last. */
export interface Planned {
	readonly id: string;
	/** An agent's own instance, or one of the catalog on a machine without an agent. */
	readonly node: 'agent' | Machine;
	readonly address: string;
	readonly port: number;
	service: string;
	/** Of its first check: a registration that is repeated does not change it. */
	status: (typeof STATUSES)[number];
	/** The id of a further check, which another program gave it. */
	further: string | undefined;
	tags: readonly string[];
	meta: Readonly<Record<string, string>>;
	inMaintenance: boolean;
}

/** A machine without an agent: its id stays when it is renamed. */
export interface Machine {
	readonly id: string;
	name: string;
}

/** One change of the registry, and the services that it is about. */
export interface Change {
	readonly what: string;
	readonly services: readonly string[];
	/** True where nothing may be left of a service after it. */
	readonly mayEmpty?: boolean;
	apply(consul: ConsulDirect): Promise<void>;
}

/** Where a machine without an agent is. */
const ADDRESS = '10.255.0.9';

/** Registers an instance as it is planned now. */
export function put(what: string, { service, id, node, address, port, tags, meta, status }: Planned): Change {
	const Weights = { Passing: 1 + (Math.abs(port) % 3), Warning: 1 + (Math.abs(port) % 2) };
	const common = { Address: address, Port: port, Tags: tags, Meta: meta, Weights };
	// Changes are drawn before they are made: the machine may be renamed by then.
	const machine = node === 'agent' ? node : { ...node };
	return {
		what: `${what} ${id} of ${service} at ${machine === 'agent' ? machine : machine.name}`,
		mayEmpty: what === 'break',
		services: [service],
		apply: (consul) =>
			machine === 'agent'
				? consul.put('/v1/agent/service/register', {
						...{ ID: id, Name: service, ...common },
						Check: { CheckID: `c-${id}`, Name: 'c', TTL: '60m', Status: status },
					})
				: consul.put('/v1/catalog/register', {
						...{ ...nodeOf(machine), SkipNodeUpdate: what === 'edit' },
						Service: { ID: id, Service: service, ...common },
						Check: checkAt(machine, id, status),
					}),
	};
}

/** Reports the planned status of an instance. */
export function setHealth({ service, id, node, status }: Planned): Change {
	const machine = node === 'agent' ? node : { ...node };
	return {
		what: `${status} ${id} of ${service}`,
		services: [service],
		apply: (consul) =>
			machine === 'agent'
				? consul.put(`/v1/agent/check/update/${encodeURIComponent(`c-${id}`)}`, { Status: status })
				: consul.put('/v1/catalog/register', {
						...{ ...nodeOf(machine), SkipNodeUpdate: true },
						Check: checkAt(machine, id, status),
					}),
	};
}

/** Adds a critical check to an instance, or removes it. */
export function switchCheck({ service, id, node }: Planned, checkId: string, isAdded: boolean): Change {
	const machine = node === 'agent' ? node : { ...node };
	const check = { Name: 'other', ServiceID: id, Status: 'critical' };
	return {
		what: `${isAdded ? 'check' : 'no check'} ${checkId} of ${id} of ${service}`,
		services: [service],
		apply: (consul) => {
			if (machine === 'agent')
				return isAdded
					? consul.put('/v1/agent/check/register', { ID: checkId, ...check, TTL: '60m' })
					: consul.put(`/v1/agent/check/deregister/${encodeURIComponent(checkId)}`);
			const Check = { Node: machine.name, CheckID: checkId, ...check };
			return isAdded
				? consul.put('/v1/catalog/register', { ...nodeOf(machine), SkipNodeUpdate: true, Check })
				: consul.put('/v1/catalog/deregister', { Node: machine.name, CheckID: checkId });
		},
	};
}

/** Takes instances of one service out. */
export function deregister(what: string, planned: readonly Planned[]): Change {
	const services = [...new Set(planned.map(({ service }) => service))];
	const places = planned.map(({ id, node }) => ({ id, machine: node === 'agent' ? undefined : node.name }));
	return {
		what: `${what} of ${services.join()}`,
		mayEmpty: true,
		services,
		apply: async (consul) => {
			for (const { id, machine } of places)
				await (machine === undefined
					? consul.put(`/v1/agent/service/deregister/${encodeURIComponent(id)}`)
					: consul.put('/v1/catalog/deregister', { Node: machine, ServiceID: id }));
		},
	};
}

/** What differs at the agent from an instance that is planned there. */
export function faultsOf(
	{ id, service, status, further, inMaintenance }: Planned,
	services: Readonly<Record<string, AgentService>>,
	checks: readonly AgentCheck[],
): readonly string[] {
	if (services[id]?.Service !== service) return [`${id} of ${service} is ${services[id]?.Service}`];
	const wanted = [`c-${id} ${status}`];
	if (further !== undefined) wanted.push(`${further} critical`);
	if (inMaintenance) wanted.push(`_service_maintenance:${id} critical`);
	const found = checks.filter(({ ServiceID }) => ServiceID === id).map((one) => `${one.CheckID} ${one.Status}`);
	const [has, wants] = [found.sort().join(', '), wanted.sort().join(', ')];
	return has === wants ? [] : [`${id} has the checks ${has}; wanted ${wants}`];
}

function nodeOf({ name, id }: Machine): Readonly<Record<string, string>> {
	return { Node: name, ID: id, Address: ADDRESS };
}

/** A check is a machine's, whatever the machine's name. */
function checkAt({ name, id: machine }: Machine, id: string, status: string): Readonly<Record<string, string>> {
	return { Node: name, CheckID: `c-${machine.slice(-1)}-${id}`, Name: 'c', ServiceID: id, Status: status };
}
