import { SpockError } from '@spock/protocol';

import {
	type InstanceDefinition,
	type InstanceHealth,
	type OwnedInstance,
	otherAppError,
	otherCaseError,
	type RegistrationTerms,
} from '../../foundation/registrar.ts';
import { OWNER_META, type RegistrationPlace } from '../../foundation/registration-place.ts';
import { AgentCalls } from './agent-calls.ts';
import { refuseUnaskable, withRight } from './client/consul-error.ts';
import type { ConsulHttp } from './http/consul-http.ts';
import {
	type AgentCheck,
	checkIdOf,
	maintenanceIdOf,
	outdatedChecks,
	renewedCheck,
	takenId,
	writtenIds,
} from './instance-checks.ts';
import { type AgentService, APP_META, readOwned, toServiceDefinition } from './service-definition.ts';

type Checks = Readonly<Record<string, AgentCheck>>;

/**
 * Registers at one agent, which checks its instances and repeats them to the servers. It writes its own data alone: what an operator or
 * another program has at the agent (maintenance, checks of an instance) stays as it is.
 * Source: https://developer.hashicorp.com/consul/api-docs/agent/service
 */
export class AgentRegistrar implements RegistrationPlace {
	readonly #calls: AgentCalls;
	/** Whose each instance is, and as what it was registered: not more than are registered at once. */
	readonly #own = new Map<string, Own>();
	/** On whose behalf this was asked last: that of an instance of which nothing was written yet. */
	#owner: string | undefined;

	/** `number` of the agent's address among those of `http`. */
	constructor(http: ConsulHttp, number: number) {
		this.#calls = new AgentCalls(http, number);
	}

	async register(
		definition: InstanceDefinition,
		health: InstanceHealth,
		terms: RegistrationTerms,
		maintenance?: string,
	): Promise<string | null> {
		const { id, service } = definition;
		// Consul would take it, and no client could ever look it up.
		refuseUnaskable('service', service);
		refuseOwnOfConsul(id);
		const { owner } = terms;
		this.#owner = owner;
		const { rival, app, checks, otherCase } = await this.#look(id, owner);
		if (otherCase !== undefined) throw otherCaseError(id, otherCase);
		// Whichever sidecar has registered it, and also when that is gone: until the agent itself takes it out.
		if (app !== undefined && app !== definition.app) throw otherAppError(id);
		if (rival?.isAlive) {
			// Known as ours by name alone: it must not be taken out for ours.
			this.#own.set(id, { owner });
			throw rivalError(id, rival);
		}
		refuseOthersCheck(id, checks);
		const isOut = maintenance !== undefined;
		const body = toServiceDefinition(definition, isOut ? { status: 'critical', note: '' } : health, terms, checks);
		const token = await this.#calls.put('/agent/service/register', body).catch((error: unknown) => {
			throw withRight(error, `service:write on ${JSON.stringify(service)}`);
		});
		this.#own.set(id, { owner, token });
		// An operator has taken it out of service: no reader must see it as well before that is written here too.
		if (isOut) await this.#maintain(id, maintenance);
		// A registration that is repeated keeps the status that the check had; this one sets it, and the note with it.
		await this.#update(id, health);
		// Checks that a former definition had, and this one has not, must not go on judging the instance.
		for (const outdated of outdatedChecks(definition, checks))
			await this.#calls.put(`/agent/check/deregister/${outdated}`).catch(unlessUnknown);
		const written = await this.#checksOf(id);
		const node = nodeIn(written);
		this.#own.set(id, { owner, token, node, maintenance: maintenanceIn(id, written) });
		// Not returned to a token that may not read the service.
		return node === undefined ? null : `${node}/${id}`;
	}

	async report(id: string, health: InstanceHealth): Promise<void> {
		const own = this.#own.get(id);
		if (own !== undefined) {
			const { rival, isUnmarked, isThere, token, checks } = await this.#look(id, own.owner);
			// Of an agent that has lost it, the reason is still what was known.
			if (isThere) own.maintenance = maintenanceIn(id, checks);
			if (rival?.isAlive) throw rivalError(id, rival);
			// Its address may be another one, and reports would keep it passing.
			if (isUnmarked) throw registerAnew(id, 'was registered by another program');
			// What another sidecar has left behind is registered anew.
			if (rival !== undefined) throw registerAnew(id, `was registered by ${rival.owner}`);
			// Before anything changes: the agent repeats it to the servers with the token that came with the registration, and where that is
			// revoked it repeats nothing for a minute or more.
			if (token !== own.token) throw registerAnew(id, 'was registered with another ACL token');
			// A report must not be written to it.
			refuseOthersCheck(id, checks);
			const node = nodeIn(checks);
			// Its name in snapshots is another one.
			if (node !== undefined && node !== (own.node ?? node))
				throw registerAnew(id, `is at ${node}, as its node is named now`);
		}
		if ((await this.#update(id, health)) !== own?.token)
			throw registerAnew(id, 'was registered with another ACL token');
	}

	async deregister(id: string, asked?: string): Promise<void> {
		const owner = asked ?? this.#own.get(id)?.owner ?? this.#owner;
		try {
			const found = owner === undefined ? undefined : await this.#look(id, owner);
			// What another sidecar or another program has under this id is not ours to take out.
			if (found?.rival === undefined && !found?.isUnmarked) await this.#calls.put(`/agent/service/deregister/${id}`);
		} catch (error) {
			unlessUnknown(error);
		}
		this.#own.delete(id);
	}

	async owned(owner: string): Promise<readonly OwnedInstance[]> {
		this.#owner = owner;
		const services = Object.values(await this.#calls.get<AgentService>('/agent/services', `"${OWNER_META}" in Meta`));
		const own = services.filter(({ Meta }) => Meta?.[OWNER_META] === owner);
		if (own.length === 0) return [];
		const checks = await this.#calls.get<AgentCheck>('/agent/checks');
		// With which token each was registered is not known: it is registered anew with the next write.
		for (const { ID } of own)
			this.#own.set(ID, { ...(this.#own.get(ID) ?? { owner }), maintenance: maintenanceIn(ID, checks) });
		return own.map((service) => readOwned(service, checks));
	}

	async nodeOf(id: string, owner: string): Promise<string | null | undefined> {
		const { rival, isUnmarked, isThere, checks } = await this.#look(id, owner);
		if (!isThere || rival !== undefined || isUnmarked) return undefined;
		return nodeIn(checks) ?? null;
	}

	maintenanceOf(id: string): string | undefined {
		return this.#own.get(id)?.maintenance;
	}

	/** Gives the token that it was sent with. */
	#update(id: string, { status, note }: InstanceHealth): Promise<string | undefined> {
		return this.#calls.put(`/agent/check/update/${checkIdOf(id)}`, { Status: status, Output: note });
	}

	/** Source: https://developer.hashicorp.com/consul/api-docs/agent/service#enable-maintenance-mode */
	async #maintain(id: string, reason: string): Promise<void> {
		await this.#calls.put(`/agent/service/maintenance/${id}`, undefined, { enable: 'true', reason });
	}

	/** Its checks, and whatever has the id of one that is written for it. */
	#checksOf(id: string): Promise<Checks> {
		const filter = [`ServiceID == "${id}"`, ...writtenIds(id).map((checkId) => `CheckID == "${checkId}"`)];
		return this.#calls.get<AgentCheck>('/agent/checks', filter.join(' or '));
	}

	/** Who has registered this id at the agent, as far as it is not this owner, and the token that it was asked with. */
	async #look(id: string, owner: string): Promise<Found> {
		const sameButCase = `ID matches "(?i)^${id.replace(/\W/g, '[$&]')}$"`;
		const { value, token } = await this.#calls.list<AgentService>('/agent/services', sameButCase);
		const checks = await this.#checksOf(id);
		const entry = value[id];
		const isThere = entry !== undefined;
		const { [OWNER_META]: other, [APP_META]: app } = entry?.Meta ?? {};
		const otherCase = Object.keys(value).find((one) => one !== id && one.toLowerCase() === id.toLowerCase());
		const found = { token, app, isThere, checks, otherCase };
		if (other === undefined || other === owner) return { ...found, isUnmarked: isThere && other === undefined };
		const { Status = 'critical' } = renewedCheck(id, checks) ?? {};
		return { ...found, rival: { owner: other, isAlive: Status !== 'critical' }, isUnmarked: false };
	}
}

/** What is known of an instance that was registered here. */
interface Own {
	readonly owner: string;
	readonly token?: string | undefined;
	/** As Consul named it last. */
	readonly node?: string | undefined;
	/** Why an operator has taken it out of service, as the agent listed it last. */
	maintenance?: string | undefined;
}

/** A server has registered itself under this id, in its own catalog. */
function refuseOwnOfConsul(id: string): void {
	if (id.toLowerCase() !== 'consul') return;
	throw new SpockError('BAD_REQUEST', 'consul is the id of the Consul server itself: use another id', {
		details: { path: 'id', id },
	});
}

function nodeIn(checks: Checks): string | undefined {
	return Object.values(checks)[0]?.Node;
}

function maintenanceIn(id: string, checks: Checks): string | undefined {
	const check = checks[maintenanceIdOf(id)];
	return check && (check.Notes ?? '');
}

function unlessUnknown(error: unknown): void {
	if (!SpockError.is(error, 'NO_SUCH_SERVICE')) throw error;
}

/** Throws BAD_REQUEST where another program's check has an id of ours: a check's id is unique at its agent, not within its service. */
function refuseOthersCheck(id: string, checks: Checks): void {
	const checkId = takenId(id, checks);
	if (checkId === undefined) return;
	const of = checks[checkId]?.ServiceID || 'its node';
	const message = `the check ${checkId} at this agent belongs to ${of}: register with another id`;
	throw new SpockError('BAD_REQUEST', message, { details: { id } });
}

/** What stands under an id at the agent. */
interface Found {
	/** The other sidecar that has registered it. */
	readonly rival?: Rival;
	/** An id at the agent, of any program, that differs in case alone: the catalog has one row for both. */
	readonly otherCase: string | undefined;
	/** Another program has: it has no owner. */
	readonly isUnmarked: boolean;
	readonly isThere: boolean;
	readonly checks: Checks;
	/** The app that it was registered for. */
	readonly app: string | undefined;
	/** The agent was asked with it. */
	readonly token: string | undefined;
}

/** Another sidecar with a registration of the same id at the same agent. */
interface Rival {
	readonly owner: string;
	/** True while it renews it, and its app does not report it as critical. */
	readonly isAlive: boolean;
}

/** Who came first keeps it; the other one asks now and then whether it still does, and writes nothing. */
function rivalError(id: string, { owner }: Rival): SpockError {
	const message = `the id ${id} is registered at this agent by another sidecar, ${owner}: give each instance its own id`;
	return new SpockError('UNAVAILABLE', message, { details: { id, owner } });
}

/** What makes the caller register it again. */
function registerAnew(id: string, why: string): SpockError {
	return new SpockError('NO_SUCH_SERVICE', `${id} ${why}`, { details: { id } });
}
