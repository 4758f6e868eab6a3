import {
	type CallOptions,
	type RegisterServiceData,
	type RegistrationReply,
	type ServiceSource,
	SpockError,
} from '@spock/protocol';

import { closedError } from '../foundation/errors.ts';
import { Registration } from './registration.ts';

/** What one client has registered. */
export class OwnRegistrations {
	readonly #source: ServiceSource;
	readonly #registrations = new Set<Registration>();
	#draining = false;

	constructor(source: ServiceSource) {
		this.#source = source;
	}

	/** Those that have not ended. */
	get count(): number {
		return this.#registrations.size;
	}

	/** Rejects with UNKNOWN_FUNC when the source cannot register, and with CLOSED once they drain. */
	async register(data: RegisterServiceData, options: CallOptions): Promise<Registration> {
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
		// What was told between the reply and now is newer.
		if (early !== undefined) registration.update(early);
		return registration;
	}

	/** Deregisters everything, as far as the registry can be told within the deadline. Never rejects. */
	async drain(options: CallOptions): Promise<void> {
		this.#draining = true;
		// What could not be confirmed is the sidecar's from here on: it was asked, or it sees this client leave.
		await Promise.allSettled([...this.#registrations].map((registration) => registration.drain(options)));
	}
}
