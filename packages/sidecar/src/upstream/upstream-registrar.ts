import type { InstanceDefinition, InstanceHealth, Registrar, RegistrationTerms } from '@spock/discovery';
import { type RegisterServiceData, type RegistrationReply, type ServiceRegistrar, SpockError } from '@spock/protocol';

import { UPSTREAM_REGISTRATIONS_MAX } from './upstream-room.ts';

/** How long the other sidecar has for one write. */
const WRITE_TIMEOUT_MS = 5000;

/** What is registered at the other sidecar. */
interface Registered {
	reply: RegistrationReply;
	/** Its name in snapshots, as it was returned. */
	readonly instance: string | null;
	/** Undefined after a report that failed: the client may send it yet, with the registration. */
	health: InstanceHealth | undefined;
}

/** The app that an instance is registered for: the other sidecar counts it below the app of this one's own token. */
type ForApp = { readonly app?: string };

/**
 * Registers at another sidecar, for as long as the connection to it lasts: it marks the instances critical when this process dies.
 * The client keeps them registered across reconnects, so a renewal only looks whether that has succeeded.
 */
export class UpstreamRegistrar implements Registrar {
	readonly registrationsMax: number = UPSTREAM_REGISTRATIONS_MAX;
	readonly #registrar: ServiceRegistrar;
	readonly #localHost: () => string | undefined;
	readonly #registered = new Map<string, Registered>();
	/** By id, from the first attempt on: that may have succeeded although its answer was lost. */
	readonly #apps = new Map<string, ForApp>();

	/** `localHost` is the host of instances that are registered without one: this machine, as the other sidecar reaches it. */
	constructor(registrar: ServiceRegistrar, localHost: () => string | undefined) {
		this.#registrar = registrar;
		this.#localHost = localHost;
	}

	async register(
		definition: InstanceDefinition,
		health: InstanceHealth,
		_terms: RegistrationTerms,
	): Promise<string | null> {
		const { id, app } = definition;
		this.#apps.set(id, app === undefined ? {} : { app });
		const data = dataOf(definition, health, this.#localHost());
		const changed = (reply: RegistrationReply): void => {
			const known = this.#registered.get(id);
			if (known !== undefined) known.reply = reply;
		};
		let reply: RegistrationReply;
		try {
			reply = await this.#write(() => this.#registrar.register(data, changed, { timeoutMs: WRITE_TIMEOUT_MS }));
		} catch (error) {
			// It was refused: nothing of it is there to be reported on or withdrawn.
			if (!SpockError.is(error, 'UNAVAILABLE') && !this.#registered.has(id)) this.#apps.delete(id);
			throw error;
		}
		this.#registered.set(id, { reply, health, instance: reply.instance });
		return instanceIn(reply);
	}

	async report(id: string, health: InstanceHealth): Promise<void> {
		const known = this.#registered.get(id);
		if (known === undefined || known.reply.state === 'deregistered') {
			this.#registered.delete(id);
			throw new SpockError('NO_SUCH_SERVICE', `no instance is registered with the id ${id} at the upstream`);
		}
		if (known.health?.status !== health.status || known.health.note !== health.note) {
			const { status, note } = health;
			known.health = undefined;
			known.reply = await this.#write(() =>
				this.#registrar.report(
					{ id, status, ...(note !== '' && { note }), ...this.#apps.get(id) },
					{ timeoutMs: WRITE_TIMEOUT_MS },
				),
			);
			known.health = health;
		}
		// Another agent has taken it over there, or its node was renamed: the caller registers again, and is returned the name.
		if (instanceIn(known.reply) !== known.instance)
			throw new SpockError('NO_SUCH_SERVICE', `${id} has another name at the upstream`);
	}

	async deregister(id: string): Promise<void> {
		try {
			const which = { id, ...this.#apps.get(id) };
			await this.#write(() => this.#registrar.deregister(which, { timeoutMs: WRITE_TIMEOUT_MS }));
		} catch (error) {
			// An earlier process of this sidecar owns it there, until it has been gone for the grace.
			if (!SpockError.is(error, 'ACL_DENIED')) throw error;
			throw new SpockError('UNAVAILABLE', `the upstream: ${error.message}`, { cause: error });
		}
		this.#registered.delete(id);
		this.#apps.delete(id);
	}

	/** None: those of an earlier process have ended with its connection, or wait there for their apps. */
	async owned(): Promise<readonly []> {
		return [];
	}

	async #write<T>(write: () => Promise<T>): Promise<T> {
		try {
			return await write();
		} catch (reason) {
			const error = SpockError.from(reason);
			const isFinal = error.code === 'ACL_DENIED' || error.code === 'BAD_REQUEST' || error.code === 'NO_SUCH_SERVICE';
			if (isFinal) throw error;
			throw new SpockError('UNAVAILABLE', `the upstream: ${error.message}`, { cause: error });
		}
	}
}

/** Its name in snapshots. Throws UNAVAILABLE while the registry does not know it. */
function instanceIn({ state, error, instance }: RegistrationReply): string | null {
	if (state === 'registered') return instance;
	throw new SpockError('UNAVAILABLE', error ?? 'the upstream has not registered it yet');
}

function dataOf(definition: InstanceDefinition, health: InstanceHealth, localHost?: string): RegisterServiceData {
	const { id, service, port, tags, meta, weights, taggedAddresses, check, app } = definition;
	const host = definition.host ?? localHost;
	return {
		...{ service, id, port, tags, meta, status: health.status },
		...(host !== undefined && { host }),
		...(weights && { weights }),
		...(taggedAddresses && { taggedAddresses }),
		...(check && { check }),
		...(app !== undefined && { app }),
		...(health.note !== '' && { note: health.note }),
	};
}
