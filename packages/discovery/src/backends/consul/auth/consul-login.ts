import { SpockError } from '@spock/protocol';
import { Backoff, type Clock, type Random, stringOption, type TimerHandle } from '@spock/protocol/internal';

import type { DiscoveryListener } from '../../../foundation/discovery-event.ts';
import { RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_MIN } from '../../../watch/watch-loop.ts';
import { type ConsulCallOptions, type ConsulQuestion, sendRequest } from '../client/consul-client.ts';
import { type ConsulLoginOptions, DEFAULT_BEARER_TOKEN_FILE } from '../client/consul-options.ts';
import { CredentialFile } from './credential-file.ts';

/** The share of a token's life after which a new one is asked for. */
const RENEW_AT = 2 / 3;
/** A logout is a courtesy: the end of the process does not wait longer for it. */
const LOGOUT_MS = 2000;

/** What Consul says of a bearer token that it does not take. */
const REFUSAL = /verif|validat|signature|expired|malformed|parsing|claim|lookup failed/i;

/** What a {@link ConsulLogin} needs. */
export interface ConsulLoginContext {
	readonly login: ConsulLoginOptions;
	/** Datacenter, namespace and partition of the auth method. */
	readonly parameters: () => Readonly<Record<string, string>>;
	/** Asks Consul, at any of its addresses. */
	readonly call: <T>(question: ConsulQuestion<T>, options?: ConsulCallOptions) => Promise<T>;
	readonly clock: Clock;
	readonly random: Random | undefined;
	readonly onEvent: DiscoveryListener | undefined;
}

interface Session {
	readonly token: string;
	/** When Consul forgets it; Infinity without an end. */
	readonly expiresAtMs: number;
}

/**
 * An ACL token by login, which everybody shares. It is renewed in the background when two thirds of its life are over; after a
 * failed login the next is not tried before a back-off, whoever asks.
 * Source: https://developer.hashicorp.com/consul/api-docs/acl#login-to-auth-method
 */
export class ConsulLogin {
	readonly #context: ConsulLoginContext;
	readonly #bearer: CredentialFile;
	readonly #backoff: Backoff;
	#session: Session | undefined;
	#pending: Promise<Session> | undefined;
	#failure: { readonly error: SpockError; readonly untilMs: number } | undefined;
	#renewTimer: TimerHandle | undefined;
	#closed = false;

	/** Throws a TypeError that names the option which is wrong. */
	constructor(context: ConsulLoginContext) {
		this.#context = context;
		const { login, onEvent, random } = context;
		stringOption('login.method', login.method);
		const path = stringOption('login.tokenFile', login.tokenFile ?? DEFAULT_BEARER_TOKEN_FILE);
		this.#bearer = new CredentialFile({ path, what: 'bearer token', onEvent });
		this.#backoff = new Backoff({
			delayMsMin: RETRY_DELAY_MS_MIN,
			delayMsMax: RETRY_DELAY_MS_MAX,
			...(random && { random }),
		});
	}

	/** The token of now. Rejects as a login does: UNAVAILABLE or ACL_DENIED. */
	async read(): Promise<string> {
		const session = this.#session;
		if (session !== undefined && session.expiresAtMs > this.#context.clock.now()) return session.token;
		return (await this.#logIn()).token;
	}

	/** Consul does not know this token any more. Resolves with true once there is another. */
	async renew(refused: string): Promise<boolean> {
		if (this.#session?.token === refused) this.#forget();
		try {
			return (await this.read()) !== refused;
		} catch {
			// Whoever was refused says so; the failed login was told as an event.
			return false;
		}
	}

	/** Logs out, so that no token stays behind in Consul. Never rejects; idempotent. */
	async close(): Promise<void> {
		if (this.#closed) return;
		this.#closed = true;
		await this.#pending?.catch(() => undefined);
		const token = this.#session?.token;
		this.#forget();
		if (token === undefined) return;
		const { call, parameters } = this.#context;
		await call(
			{
				parameters: parameters(),
				token,
				send: (client, common) => sendRequest(client, common, { method: 'POST', path: '/acl/logout' }),
				read: () => undefined,
			},
			{ timeoutMs: LOGOUT_MS },
		).catch(() => undefined);
	}

	#forget(): void {
		this.#session = undefined;
		this.#context.clock.clearTimeout(this.#renewTimer);
	}

	#logIn(): Promise<Session> {
		const { clock, login, onEvent } = this.#context;
		if (this.#closed) return Promise.reject(new SpockError('CLOSED', 'the connection to Consul was closed'));
		if (this.#pending !== undefined) return this.#pending;
		if (this.#failure !== undefined && this.#failure.untilMs > clock.now()) return Promise.reject(this.#failure.error);
		this.#pending = this.#send()
			.then(
				(session) => {
					this.#failure = undefined;
					this.#backoff.reset();
					this.#adopt(session);
					return session;
				},
				(reason: unknown) => {
					const error = SpockError.from(reason);
					this.#failure = { error, untilMs: clock.now() + this.#backoff.next() };
					if (!this.#closed) onEvent?.({ type: 'login-failed', method: login.method, error });
					throw error;
				},
			)
			.finally(() => {
				this.#pending = undefined;
			});
		return this.#pending;
	}

	#adopt(session: Session): void {
		const { clock, login, onEvent } = this.#context;
		this.#session = session;
		clock.clearTimeout(this.#renewTimer);
		const ttlMs = session.expiresAtMs - clock.now();
		const hasEnd = Number.isFinite(ttlMs);
		onEvent?.({ type: 'logged-in', method: login.method, ttlMs: hasEnd ? Math.round(ttlMs) : null });
		if (hasEnd && !this.#closed) this.#armRenewal(ttlMs * RENEW_AT);
	}

	#armRenewal(delayMs: number): void {
		const { clock } = this.#context;
		this.#renewTimer = clock.setTimeout(
			() => {
				// The old token is left to expire: queries that block were sent with it.
				this.#logIn().catch(() => {
					const session = this.#session;
					if (session === undefined || this.#closed) return;
					this.#armRenewal(Math.max(1000, (session.expiresAtMs - clock.now()) / 2));
				});
			},
			Math.min(delayMs, 2 ** 31 - 1),
		);
		this.#renewTimer.unref?.();
	}

	async #send(): Promise<Session> {
		const { login, call, parameters, clock } = this.#context;
		const bearer = await this.#bearer.read();
		const body = { AuthMethod: login.method, BearerToken: bearer, ...(login.meta && { Meta: login.meta }) };
		const sentAtMs = clock.now();
		try {
			return await call({
				parameters: parameters(),
				token: null,
				secrets: [bearer],
				send: (client, common) => sendRequest(client, common, { method: 'POST', path: '/acl/login', body }),
				read: (_response, answer) => readSession(answer, sentAtMs),
			});
		} catch (reason) {
			throw loginError(reason, login.method);
		}
	}
}

/**
 * Consul answers 500 and not 403 where it can make nothing of a bearer token: its words tell that from an outage, in which
 * another login may succeed.
 */
function loginError(reason: unknown, method: string): SpockError {
	const error = SpockError.from(reason);
	const isRefused = error.code === 'ACL_DENIED' || (error.details['status'] === 500 && REFUSAL.test(error.message));
	const code = isRefused ? 'ACL_DENIED' : error.code;
	const message = `the login with the auth method ${JSON.stringify(method)} failed: ${error.message}`;
	return new SpockError(code, message, { details: { ...error.details, method }, cause: error });
}

/** A token and its end, which is counted from the request, because Consul's clock is not ours. Throws an Error for another shape. */
function readSession(answer: unknown, sentAtMs: number): Session {
	const { SecretID, CreateTime, ExpirationTime } = (answer ?? {}) as Readonly<Record<string, unknown>>;
	if (typeof SecretID !== 'string' || SecretID === '') throw new Error('its response to the login contains no token');
	const lifeMs = Date.parse(String(ExpirationTime)) - Date.parse(String(CreateTime));
	return {
		token: SecretID,
		expiresAtMs: Number.isFinite(lifeMs) && lifeMs > 0 ? sentAtMs + lifeMs : Number.POSITIVE_INFINITY,
	};
}
