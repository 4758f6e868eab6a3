import type {
	CallOptions,
	RegistrationReply,
	RegistrationState,
	ReportedStatus,
	ServiceRegistrar,
} from '@spock/protocol';
import { showAs } from '@spock/protocol/internal';

/**
 * An instance of this app in the registry, made by `diplomat.register`. It survives reconnects and restarts of the sidecar:
 * the client registers again by itself. When the app dies, the sidecar tells the registry at once, and deregisters it
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

	/** Its name in snapshots; null while the registry has not told. */
	get instance(): string | null {
		return this.#reply.instance;
	}

	/**
	 * `registered`: the registry knows it. `pending`: it does not, or nobody can say, and it is tried again; `error` says
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
	 * Says how the app is, and why: `warning` still gets work, `critical` does not. Kept until the next report, over
	 * reconnects too. Resolves when the registry knows, or could not be told yet (`state` is then `pending`). Rejects with
	 * BAD_REQUEST (nothing was sent, and the report before it counts), NO_SUCH_SERVICE (it was deregistered), OVERLOADED, TIMEOUT,
	 * ABORTED, DISCONNECTED or CLOSED: after the last five it is said again in the background, because it is the app's last word.
	 */
	async report(status: ReportedStatus, note?: string, options: CallOptions = {}): Promise<void> {
		const report = { id: this.id, status, ...(note !== undefined && note !== '' && { note }) };
		this.told(await this.#registrar.report(report, options));
	}

	/**
	 * Deregisters it; resolves when the registry does not know it any more. Call it before the app stops serving, so that
	 * nobody is sent to it. Rejects with TIMEOUT, ACL_DENIED, OVERLOADED, ABORTED, DISCONNECTED or CLOSED: then it can be called
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

	/** For `diplomat.register`: how it is now. */
	told(reply: RegistrationReply): void {
		if (this.#reply.state === 'deregistered') return;
		this.#reply = reply;
		if (reply.state === 'deregistered') this.#ended(this);
	}

	async #deregister(options: CallOptions): Promise<void> {
		await this.#registrar.deregister({ id: this.id }, options);
		this.told({ ...this.#reply, state: 'deregistered', error: null });
	}
}

showAs(Registration, 'Registration', ({ id, service, instance, state, error }) => ({
	id,
	service,
	instance,
	state,
	error,
}));
