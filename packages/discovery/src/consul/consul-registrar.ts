import type { IncomingMessage } from 'node:http';

import { SpockError } from '@spock/protocol';
import { isObject } from '@spock/protocol/internal';

import type {
	InstanceDefinition,
	InstanceHealth,
	OwnedInstance,
	Registrar,
	RegistrationTerms,
} from '../registration/registrar.ts';
import { type ConsulRequest, sendRequest } from './consul-client.ts';
import { notJson } from './consul-error.ts';
import type { ConsulHttp } from './consul-http.ts';
import { refuseUnaskable } from './consul-name.ts';
import type { ConsulQuestion } from './consul-question.ts';
import {
	type AgentCheck,
	type AgentService,
	checkIdOf,
	OWNER_META,
	readOwned,
	toServiceDefinition,
} from './service-definition.ts';

/** A write is short: the next one, or the retry, must not wait long for it. */
const WRITE_MS = 5000;
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
	/** The token that each instance was registered with: not more than are registered at once. */
	readonly #tokens = new Map<string, string | undefined>();

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
		const body = toServiceDefinition(definition, health, terms);
		// Checks that a former definition had, and this one has not, must not go on judging the instance.
		const parameters = definition.isPartial ? {} : { 'replace-existing-checks': 'true' };
		this.#tokens.set(id, await this.#put('/agent/service/register', body, parameters));
		// A registration that is repeated keeps the status that the check had; this one sets it, and the note with it.
		await this.report(id, health);
		const checks = await this.#get<AgentCheck>('/agent/checks', `ServiceID == "${id}"`);
		// Not told to a token that may not read the service.
		const node = Object.values(checks)[0]?.Node;
		return node === undefined ? null : `${node}/${id}`;
	}

	async report(id: string, { status, note }: InstanceHealth): Promise<void> {
		const token = await this.#put(`/agent/check/update/${checkIdOf(id)}`, { Status: status, Output: note });
		// The agent tells the servers with the token that came with the registration: once that is revoked, nobody would hear of
		// a change any more.
		if (token !== this.#tokens.get(id)) {
			throw new SpockError('NO_SUCH_SERVICE', `${id} was registered with another ACL token`, { details: { id } });
		}
	}

	async deregister(id: string): Promise<void> {
		try {
			await this.#put(`/agent/service/deregister/${id}`);
		} catch (error) {
			if (!SpockError.is(error, 'NO_SUCH_SERVICE')) throw error;
		}
		this.#tokens.delete(id);
	}

	async owned(owner: string): Promise<readonly OwnedInstance[]> {
		const services = Object.values(await this.#get<AgentService>('/agent/services', `"${OWNER_META}" in Meta`));
		const own = services.filter(({ Meta }) => Meta?.[OWNER_META] === owner);
		if (own.length === 0) return [];
		const checks = await this.#get<AgentCheck>('/agent/checks');
		return own.map((service) => readOwned(service, checks));
	}

	async #get<T>(path: string, filter?: string): Promise<Readonly<Record<string, T>>> {
		const { value } = await this.#call({ method: 'GET', path }, filter ? { filter } : {}, (response, body) => {
			if (!isObject(body)) throw notJson(response);
			return body as Readonly<Record<string, T>>;
		});
		return value;
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
	): Promise<{ readonly value: T; readonly token: string | undefined }> {
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
			return { value, token };
		} catch (error) {
			throw asWriteError(error);
		}
	}
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
