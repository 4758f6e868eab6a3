import { SpockError } from '@spock/protocol';

import type { InstanceDefinition, InstanceHealth, Registrar, RegistrationTerms } from '../foundation/registrar.ts';

/** What the registry is believed to know of one instance, and the calls that change it. */
export class RegistryEntry {
	readonly #registrar: Registrar;
	readonly #terms: RegistrationTerms;
	#definition: InstanceDefinition | undefined;
	#instance: string | null = null;
	#wasKnown = false;

	constructor(registrar: Registrar, terms: RegistrationTerms) {
		this.#registrar = registrar;
		this.#terms = terms;
	}

	get isKnown(): boolean {
		return this.#definition !== undefined;
	}

	/** True once the registry has ever known it. */
	get wasKnown(): boolean {
		return this.#wasKnown;
	}

	/** Its name in snapshots, as far as the registry has told. */
	get instance(): string | null {
		return this.#instance;
	}

	/** It was there before us. Without a definition it is to be told everything when the app comes back. */
	found(instance: string | null, definition: InstanceDefinition | undefined): void {
		this.#instance = instance;
		this.#definition = definition;
		this.#wasKnown = true;
	}

	/** The registry has lost it, or must be told everything again. */
	lose(): void {
		this.#definition = undefined;
	}

	/** Reports the health, or registers where the registry does not know this very definition. */
	async write(definition: InstanceDefinition, health: InstanceHealth): Promise<void> {
		if (this.#definition === definition) {
			await this.#registrar.report(definition.id, health);
			return;
		}
		try {
			this.#instance = await this.#registrar.register(definition, health, this.#terms);
		} catch (error) {
			// Lost while it was being registered: that is tried again in a while, and not at once.
			if (!SpockError.is(error, 'NO_SUCH_SERVICE')) throw error;
			throw new SpockError('UNAVAILABLE', error.message, { details: error.details, cause: error });
		}
		this.#definition = definition;
		this.#wasKnown = true;
	}

	/** Takes it out. One that the registry does not know is out already: to try again at once would never end. */
	async remove(id: string): Promise<void> {
		try {
			await this.#registrar.deregister(id);
		} catch (error) {
			if (!SpockError.is(error, 'NO_SUCH_SERVICE')) throw error;
		}
		this.#definition = undefined;
	}
}
