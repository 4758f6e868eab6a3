import { type RegisterServiceData, SpockError } from '@spock/protocol';
import { Backoff, type Clock, isObject, systemClock, type TimerHandle } from '@spock/protocol/internal';
import type { Diplomat } from '../diplomat.ts';
import type { Registration } from '../registration/registration.ts';

/** What an app registers itself as: the port is that at which it listens, unless it is given. */
export interface AppRegistrationData extends Omit<RegisterServiceData, 'port'> {
	/** Default: the port at which the app listens. Give it where others reach the app at another port. */
	readonly port?: number;
}

/** All addresses of the machine, and those that mean another machine to others. */
const NO_PLACE = /^(?:0\.0\.0\.0|::|127\..*|::1|(?:::ffff:)(?:0\.0\.0\.0|127\..*))$/;

/** Port and address of a server, by its `address()`; no address where it is no place for others. */
function boundTo(listening: unknown): { readonly port?: number; readonly host?: string } {
	if (!isObject(listening) || typeof listening['port'] !== 'number') return {};
	const { port, address } = listening;
	const isPlace = typeof address === 'string' && !NO_PLACE.test(address);
	return { port: port as number, ...(isPlace && { host: address }) };
}

/** First and longest delay between two attempts to register, in milliseconds. */
const RETRY_DELAY_MS_MIN = 100;
const RETRY_DELAY_MS_MAX = 10_000;

/**
 * The registration of an app that a framework starts and stops: from when it listens until it is about to stop. An attempt
 * that fails is repeated where that can help (`SpockError.retryable`), and `error` says why it failed.
 */
export class AppRegistration {
	readonly #diplomat: Diplomat;
	readonly #data: AppRegistrationData;
	readonly #clock: Clock;
	readonly #backoff: Backoff = new Backoff({ delayMsMin: RETRY_DELAY_MS_MIN, delayMsMax: RETRY_DELAY_MS_MAX });
	readonly #stop: AbortController = new AbortController();
	#registration: Registration | undefined;
	#error: unknown;
	#attempt: Promise<void> | undefined;
	#timer: TimerHandle | undefined;
	#wasRegistered = false;

	/** Throws a TypeError unless `data` is the name of a service, or an object with it. */
	constructor(diplomat: Diplomat, data: string | AppRegistrationData, clock: Clock = systemClock) {
		const given: unknown = typeof data === 'string' ? { service: data } : data;
		if (!isObject(given) || typeof given['service'] !== 'string' || given['service'] === '') {
			throw new TypeError("register must be the name of a service, or an object with it: { service: 'barista' }");
		}
		this.#diplomat = diplomat;
		this.#data = given as unknown as AppRegistrationData;
		this.#clock = clock;
	}

	get service(): string {
		return this.#data.service;
	}

	/** Undefined until the sidecar has accepted it. */
	get registration(): Registration | undefined {
		return this.#registration;
	}

	/** Why the last attempt failed; undefined if it has not. */
	get error(): unknown {
		return this.#error;
	}

	/**
	 * True once the registry has known the app, until `withdraw`: an outage of the registry later does not make an app unready
	 * that others know already.
	 */
	get isReady(): boolean {
		this.#wasRegistered ||= this.#registration?.state === 'registered';
		return this.#wasRegistered && !this.#stop.signal.aborted;
	}

	/**
	 * The app listens here, as `server.address()` says; a path, or null, where it listens at no port. Without `host` in the data it is
	 * registered at the address at which it listens, if that is one of several. Without effect after the first call.
	 */
	start(listening: unknown): void {
		if (this.#attempt !== undefined || this.#stop.signal.aborted) return;
		const { port, host } = boundTo(listening);
		const at = this.#data.port ?? port;
		if (at !== undefined) {
			this.#attempt = this.#register({ ...(host !== undefined && { host }), ...this.#data, port: at });
			return;
		}
		const message = `${JSON.stringify(this.service)} cannot be registered: the app does not listen at a port, and register.port is not given`;
		this.#error = new SpockError('BAD_REQUEST', message, { details: { service: this.service } });
		this.#attempt = Promise.resolve();
	}

	/**
	 * Deregisters the app. Call it while the app still takes requests. Never rejects: where the registry has not confirmed it in
	 * time, the sidecar keeps trying, and `error` says why. Idempotent.
	 */
	async withdraw(): Promise<void> {
		this.#stop.abort();
		this.#clock.clearTimeout(this.#timer);
		await this.#attempt;
		try {
			await this.#registration?.drain();
		} catch (error) {
			this.#error = error;
		}
	}

	async #register(data: RegisterServiceData): Promise<void> {
		const { signal } = this.#stop;
		try {
			this.#registration = await this.#diplomat.register(data, { signal });
			this.#wasRegistered = this.#registration.state === 'registered';
			this.#error = undefined;
		} catch (error) {
			this.#error = error;
			if (signal.aborted || !SpockError.is(error) || !error.retryable) return;
			this.#timer = this.#clock.setTimeout(() => {
				this.#attempt = this.#register(data);
			}, this.#backoff.next());
			this.#timer.unref?.();
		}
	}
}
