import type { IncomingMessage } from 'node:http';

import { SpockError } from '@spock/protocol';
import { isObject } from '@spock/protocol/internal';

import {
	type InstanceDefinition,
	type InstanceHealth,
	type OwnedInstance,
	otherAppError,
	type Registrar,
	type RegistrationTerms,
} from '../../foundation/registrar.ts';
import { type ConsulQuestion, type ConsulRequest, sendRequest } from './client/consul-client.ts';
import { notJson, refuseUnaskable, withRight } from './client/consul-error.ts';
import type { ConsulHttp } from './http/consul-http.ts';
import {
	type AgentCheck,
	type AgentService,
	APP_META,
	checkIdOf,
	OWNER_META,
	readOwned,
	toServiceDefinition,
} from './service-definition.ts';

/** A write is short: the next one, or the retry, must not wait long for it. */
const WRITE_MS = 5000;
/** A server that has just started knows no token until it has read its data: one that was good is believed to be gone after this. */
const TOKEN_DOUBTED_MS = 10_000;
const BAD_REQUEST = 400;
const NOT_FOUND = 404;
/** How agents before 1.7 say that they do not know a check or a service, with status 500. */
const UNKNOWN_THERE = /unknown (?:check|service)|does not have associated TTL/i;

/**
 * Registers at one agent, the first address: instances belong to the agent that they were registered at, which checks them
 * and repeats them to the servers. Another address would make a second instance of the same name there, and nobody would
 * take the first one out. While that agent is away, writes are tried again.
 * Source: https://developer.hashicorp.com/consul/api-docs/agent/service
 */
export class ConsulRegistrar implements Registrar {
	readonly #http: ConsulHttp;
	/** Whose each instance is, and the token that it was registered with: not more than are registered at once. */
	readonly #own = new Map<string, { readonly owner: string; readonly token?: string | undefined }>();
	/** On whose behalf this was asked last: that of an instance of which nothing was written yet. */
	#owner: string | undefined;
	/** The token that Consul accepted last, and since when it no longer knows it. */
	#accepted: { readonly token: string | undefined; readonly unknownSinceMs?: number } | undefined;

	constructor(http: ConsulHttp) {
		this.#http = http;
	}

	async register(
		definition: InstanceDefinition,
		health: InstanceHealth,
		terms: RegistrationTerms,
	): Promise<string | null> {
		const { id, service } = definition;
		// Consul would take it, and nobody could ever look it up.
		refuseUnaskable('service', service);
		const { owner } = terms;
		this.#owner = owner;
		const { rival, app } = await this.#look(id, owner);
		// Whichever sidecar has registered it, and also when that is gone: until the agent itself takes it out.
		if (app !== undefined && app !== definition.app) throw otherAppError(id);
		if (rival?.isAlive) {
			// Known as ours by name alone: it must not be taken out for ours.
			this.#own.set(id, { owner });
			throw rivalError(id, rival);
		}
		const body = toServiceDefinition(definition, health, terms);
		// Checks that a former definition had, and this one has not, must not go on judging the instance.
		const parameters = definition.isPartial ? {} : { 'replace-existing-checks': 'true' };
		const token = await this.#put('/agent/service/register', body, parameters).catch((error: unknown) => {
			throw withRight(error, `service:write on ${JSON.stringify(service)}`);
		});
		this.#own.set(id, { owner, token });
		// A registration that is repeated keeps the status that the check had; this one sets it, and the note with it.
		await this.#update(id, health);
		const checks = await this.#get<AgentCheck>('/agent/checks', `ServiceID == "${id}"`);
		// Not told to a token that may not read the service.
		const node = Object.values(checks)[0]?.Node;
		return node === undefined ? null : `${node}/${id}`;
	}

	async report(id: string, health: InstanceHealth): Promise<void> {
		const own = this.#own.get(id);
		if (own !== undefined) {
			const { rival, isUnmarked, token } = await this.#look(id, own.owner);
			if (rival?.isAlive) throw rivalError(id, rival);
			// Its address may be another one, and reports would keep it passing.
			if (isUnmarked) throw registerAnew(id, 'was registered by another program');
			// What another sidecar has left behind is registered anew.
			if (rival !== undefined) throw registerAnew(id, `was registered by ${rival.owner}`);
			// Before anything changes: the agent tells the servers with the token that came with the registration, and where that is
			// revoked it tells them nothing for a minute or more.
			if (token !== own.token) throw registerAnew(id, 'was registered with another ACL token');
		}
		if ((await this.#update(id, health)) !== own?.token)
			throw registerAnew(id, 'was registered with another ACL token');
	}

	async deregister(id: string): Promise<void> {
		const owner = this.#own.get(id)?.owner ?? this.#owner;
		try {
			const found = owner === undefined ? undefined : await this.#look(id, owner);
			// What another sidecar or another program has under this id is not ours to take out.
			if (found?.rival === undefined && !found?.isUnmarked) await this.#put(`/agent/service/deregister/${id}`);
		} catch (error) {
			if (!SpockError.is(error, 'NO_SUCH_SERVICE')) throw error;
		}
		this.#own.delete(id);
	}

	async owned(owner: string): Promise<readonly OwnedInstance[]> {
		this.#owner = owner;
		const services = Object.values(await this.#get<AgentService>('/agent/services', `"${OWNER_META}" in Meta`));
		const own = services.filter(({ Meta }) => Meta?.[OWNER_META] === owner);
		if (own.length === 0) return [];
		const checks = await this.#get<AgentCheck>('/agent/checks');
		// With which token each was registered is not known: it is registered anew with the next write.
		for (const { ID } of own) if (!this.#own.has(ID)) this.#own.set(ID, { owner });
		return own.map((service) => readOwned(service, checks));
	}

	/** Gives the token that it was sent with. */
	#update(id: string, { status, note }: InstanceHealth): Promise<string | undefined> {
		return this.#put(`/agent/check/update/${checkIdOf(id)}`, { Status: status, Output: note });
	}

	/** Who has registered this id at the agent, as far as it is not this owner, and the token that it was asked with. */
	async #look(id: string, owner: string): Promise<Found> {
		const { value, token } = await this.#list<AgentService>('/agent/services', `ID == "${id}"`);
		const entry = value[id];
		const { [OWNER_META]: other, [APP_META]: app } = entry?.Meta ?? {};
		if (other === undefined || other === owner)
			return { token, app, isUnmarked: entry !== undefined && other === undefined };
		const checks = await this.#get<AgentCheck>('/agent/checks', `ServiceID == "${id}"`);
		const { Status = 'critical' } = checks[checkIdOf(id)] ?? {};
		return { rival: { owner: other, isAlive: Status !== 'critical' }, token, app, isUnmarked: false };
	}

	async #get<T>(path: string, filter?: string): Promise<Readonly<Record<string, T>>> {
		return (await this.#list<T>(path, filter)).value;
	}

	#list<T>(path: string, filter?: string): Promise<Answered<Readonly<Record<string, T>>>> {
		return this.#call({ method: 'GET', path }, filter ? { filter } : {}, (response, body) => {
			if (!isObject(body)) throw notJson(response);
			return body as Readonly<Record<string, T>>;
		});
	}

	/** Gives the token that it was sent with. */
	async #put(
		path: string,
		body?: unknown,
		parameters: Readonly<Record<string, string>> = {},
	): Promise<string | undefined> {
		const request: ConsulRequest = { method: 'PUT', path, ...(body !== undefined && { body }) };
		const { token } = await this.#call(request, parameters, (response, answer) => {
			// Consul answers a write with nothing; a page is from somebody else.
			if (typeof answer === 'string' && answer.trim() !== '') throw notJson(response);
		});
		return token;
	}

	async #call<T>(
		request: ConsulRequest,
		parameters: Readonly<Record<string, string>>,
		read: (response: IncomingMessage, body: unknown) => T,
	): Promise<Answered<T>> {
		// An agent registers in its own datacenter, whichever one is asked for lookups.
		const { dc: _, ...place } = this.#http.placeParameters();
		let token: string | undefined;
		const send: ConsulQuestion<T>['send'] = (client, common) => {
			token = common.token;
			return sendRequest(client, common, request);
		};
		try {
			const question = { parameters: { ...place, ...parameters }, send, read };
			const value = await this.#http.call(question, { isFirstOnly: true, timeoutMs: WRITE_MS });
			this.#accepted = { token };
			return { value, token };
		} catch (error) {
			throw asWriteError(this.#isDoubtful(error, token) ? asUnavailable(error) : error);
		}
	}

	/** True where Consul has only just stopped to know a token that it accepted: it may have restarted. */
	#isDoubtful(error: unknown, token: string | undefined): error is SpockError {
		if (!SpockError.is(error, 'ACL_DENIED') || error.details['isUnknownToken'] !== true) return false;
		if (this.#accepted === undefined || this.#accepted.token !== token) return false;
		const nowMs = this.#http.clock.now();
		const { unknownSinceMs = nowMs } = this.#accepted;
		this.#accepted = { token, unknownSinceMs };
		return nowMs - unknownSinceMs < TOKEN_DOUBTED_MS;
	}
}

/** What stands under an id at the agent. */
interface Found {
	/** The other sidecar that has registered it. */
	readonly rival?: Rival;
	/** Another program has: it has no owner. */
	readonly isUnmarked: boolean;
	/** The app that it was registered for. */
	readonly app: string | undefined;
	/** The agent was asked with it. */
	readonly token: string | undefined;
}

/** What Consul answered, and the token that it was asked with. */
interface Answered<T> {
	readonly value: T;
	readonly token: string | undefined;
}

/** Another sidecar with a registration of the same id at the same agent. */
interface Rival {
	readonly owner: string;
	/** True while it renews it, and its app does not say that it is critical. */
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

/** An error that is worth a retry. */
function asUnavailable(cause: SpockError): SpockError {
	return new SpockError('UNAVAILABLE', cause.message, { details: cause.details, cause });
}

/** What an answer means to a write: a definition that Consul refuses, and an instance that it does not know. */
function asWriteError(reason: unknown): unknown {
	if (!SpockError.is(reason, 'UNAVAILABLE')) return reason;
	const { message, details } = reason;
	const { status } = details;
	if (status === BAD_REQUEST) return new SpockError('BAD_REQUEST', message, { details, cause: reason });
	if (status === NOT_FOUND || (status === 500 && UNKNOWN_THERE.test(message))) {
		return new SpockError('NO_SUCH_SERVICE', message, { details, cause: reason });
	}
	return reason;
}
