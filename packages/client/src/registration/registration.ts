import {
	type CallOptions,
	type RegisterServiceData,
	type RegistrationReply,
	type RegistrationState,
	type ReportedStatus,
	type ServiceRegistrar,
	type ServiceSource,
	SpockError,
} from '@spock/protocol';
import { isObject, knownMembers, showAs, stringOrNull } from '@spock/protocol/internal';
import { closedError } from '../foundation/errors.ts';

/**
 * An instance of this app in the registry, made by `diplomat.register`. It survives reconnects and restarts of the sidecar:
 * the client registers again by itself. When the app dies, the sidecar notifies the registry at once, and deregisters it
 * after its reconnect grace.
 */
export class Registration implements AsyncDisposable {
	readonly #registrar: ServiceRegistrar;
	readonly #ended: (registration: Registration) => void;
	#reply: RegistrationReply;
	#draining: Promise<void> | undefined;

	/** Use `diplomat.register`. */
	constructor(registrar: ServiceRegistrar, reply: RegistrationReply, ended: (registration: Registration) => void) {
		this.#registrar = registrar;
		this.#reply = reply;
		this.#ended = ended;
	}

	/** Names the instance at its registry's agent. */
	get id(): string {
		return this.#reply.id;
	}

	get service(): string {
		return this.#reply.service;
	}

	/** Its name in snapshots; null until the registry has reported it. */
	get instance(): string | null {
		return this.#reply.instance;
	}

	/**
	 * `registered`: the registry knows it. `pending`: it does not, or this is unknown, and registering is retried; `error` says
	 * why. `draining`, then `deregistered`: it has ended.
	 */
	get state(): RegistrationState | 'draining' {
		return this.#draining !== undefined && this.#reply.state !== 'deregistered' ? 'draining' : this.#reply.state;
	}

	/** Why it is `pending`, for people; else null. */
	get error(): string | null {
		return this.#reply.error;
	}

	/**
	 * Reports the health of the app, and why: `warning` still gets work, `critical` does not. Valid until the next report, also across
	 * reconnects. Resolves when the registry knows, or cannot be reached yet (`state` is then `pending`). Rejects with
	 * BAD_REQUEST (nothing was sent, and the report before it counts), NO_SUCH_SERVICE (it was deregistered), OVERLOADED, TIMEOUT,
	 * ABORTED, DISCONNECTED or CLOSED: after the last five it is sent again in the background, because it is the app's latest status.
	 */
	async report(status: ReportedStatus, note?: string, options: CallOptions = {}): Promise<void> {
		const report = { id: this.id, status, ...(note !== undefined && note !== '' && { note }) };
		this.update(await this.#registrar.report(report, options));
	}

	/**
	 * Deregisters it; resolves when the registry does not know it any more. Call it before the app stops serving, so that
	 * no client calls it. Rejects with TIMEOUT, ACL_DENIED, OVERLOADED, ABORTED, DISCONNECTED or CLOSED: then it can be called
	 * again. If the sidecar was asked it goes on trying, and the `state` is `pending` until a sidecar has confirmed it; if not,
	 * the registration stays. Idempotent.
	 */
	drain(options: CallOptions = {}): Promise<void> {
		if (this.#reply.state === 'deregistered') return Promise.resolve();
		this.#draining ??= this.#deregister(options).finally(() => {
			this.#draining = undefined;
		});
		return this.#draining;
	}

	/** As `drain`. */
	[Symbol.asyncDispose](): Promise<void> {
		return this.drain();
	}

	/** Called by `diplomat.register` with the current state. */
	update(reply: RegistrationReply): void {
		if (this.#reply.state === 'deregistered') return;
		this.#reply = reply;
		if (reply.state === 'deregistered') this.#ended(this);
	}

	async #deregister(options: CallOptions): Promise<void> {
		await this.#registrar.deregister({ id: this.id }, options);
		this.update({ ...this.#reply, state: 'deregistered', error: null });
	}
}

showAs(Registration, 'Registration', ({ id, service, instance, state, error }) => ({
	id,
	service,
	instance,
	state,
	error,
}));

const STATES: readonly unknown[] = ['registered', 'pending', 'deregistered'] satisfies RegistrationReply['state'][];

/** Reads a registration from the data of a reply or a push; undefined for anything else. */
export function readRegistration(data: unknown): RegistrationReply | undefined {
	if (!isObject(data)) return undefined;
	const { id, service, instance, state, error } = data;
	if (typeof id !== 'string' || typeof service !== 'string' || !STATES.includes(state)) return undefined;
	return {
		id,
		service,
		instance: stringOrNull(instance),
		state: state as RegistrationReply['state'],
		error: stringOrNull(error),
	};
}

const MEMBERS: Readonly<Record<keyof RegisterServiceData, readonly string[] | null>> = {
	...{ service: null, id: null, host: null, port: null, tags: null, meta: null, taggedAddresses: null, bind: null },
	...{ weights: ['passing', 'warning'], check: ['http', 'tcp', 'intervalMs', 'timeoutMs'] },
	...{ status: null, note: null, app: null },
};
/** Another member is often meant so: no letters in common. */
const MEANT: Readonly<Record<string, string>> = { name: 'service', address: 'host', healthCheck: 'check' };

/**
 * Throws a TypeError for an unknown member: the instance would be registered without what it means. A sidecar does not refuse it, because
 * a newer client may send more.
 */
function checkRegistration(data: RegisterServiceData): void {
	// What is no object at all, or has a bad value, the validator of the protocol refuses.
	if (!isObject(data)) return;
	for (const name of Object.keys(data)) {
		const meant = Object.hasOwn(MEMBERS, name) ? undefined : MEANT[name];
		if (meant !== undefined) throw new TypeError(`unknown member of registration "${name}"; did you mean "${meant}"?`);
	}
	knownMembers('member of registration', data, Object.keys(MEMBERS));
	for (const [name, members] of Object.entries(MEMBERS)) {
		const value = data[name as keyof RegisterServiceData];
		if (members !== null && isObject(value)) knownMembers(`member of registration.${name}`, value, members);
	}
}

/** What one client has registered. */
export class OwnRegistrations {
	readonly #source: ServiceSource;
	readonly #registrations = new Set<Registration>();
	readonly #pending = new Set<Promise<Registration>>();
	#draining = false;

	constructor(source: ServiceSource) {
		this.#source = source;
	}

	/** Registrations that have not ended. */
	get count(): number {
		return this.#registrations.size;
	}

	/** True while an instance is being registered. */
	get isRegistering(): boolean {
		return this.#pending.size > 0;
	}

	/** Rejects with a TypeError for an unknown member, UNKNOWN_FUNC when the source cannot register, and with CLOSED once they drain. */
	async register(data: RegisterServiceData, options: CallOptions): Promise<Registration> {
		const pending = this.#register(data, options);
		this.#pending.add(pending);
		try {
			return await pending;
		} finally {
			this.#pending.delete(pending);
		}
	}

	/** Deregisters everything, including what is being registered, as far as the registry answers within the deadline. Never rejects. */
	async drain(options: CallOptions): Promise<void> {
		this.#draining = true;
		const drained = [...this.#registrations].map((registration) => registration.drain(options));
		// Each has settled by its caller's deadline.
		const pending = [...this.#pending].map(async (registration) => (await registration).drain(options));
		// The sidecar completes what was not confirmed: it received the request, or sees this client leave.
		await Promise.allSettled([...drained, ...pending]);
	}

	async #register(data: RegisterServiceData, options: CallOptions): Promise<Registration> {
		checkRegistration(data);
		const { registrar, name } = this.#source;
		if (this.#draining) throw closedError();
		if (registrar === undefined) {
			const message = `registerService: the source ${name} only finds services; use a sidecar, or a source that can register`;
			throw new SpockError('UNKNOWN_FUNC', message, { details: { func: 'registerService', source: name } });
		}
		let registration: Registration | undefined;
		let early: RegistrationReply | undefined;
		const listener = (reply: RegistrationReply): void => {
			if (registration === undefined) early = reply;
			else registration.update(reply);
		};
		const reply = await registrar.register(data, listener, options);
		registration = new Registration(registrar, reply, (ended) => this.#registrations.delete(ended));
		this.#registrations.add(registration);
		// A state pushed since the reply is newer.
		if (early !== undefined) registration.update(early);
		return registration;
	}
}
