import { SpockError } from '@spock/protocol';

import type { InstanceDefinition, InstanceHealth, OwnedInstance, Registrar } from '../src/foundation/registrar.ts';

interface Held {
	readonly call: string;
	resolve(): void;
	reject(error: SpockError): void;
}

/** A registry in memory whose writes a test can hold, fail and count. */
export class FakeRegistrar implements Registrar {
	/** Every write so far: `register barista-1 passing`, `report barista-1 critical`, `deregister barista-1`. */
	readonly writes: string[] = [];
	readonly known: Map<string, { readonly definition: InstanceDefinition; readonly health: InstanceHealth }> = new Map();
	found: readonly OwnedInstance[] = [];
	/** While set, every call fails with it. */
	error: SpockError | undefined;
	/** While true, writes wait for `release`. */
	holds = false;
	readonly #held: Held[] = [];
	#owned: Promise<readonly OwnedInstance[]> | undefined;

	/** Answers the oldest write that waits. */
	release(error?: SpockError): void {
		const held = this.#held.shift();
		if (held === undefined) throw new Error('no write waits');
		if (error === undefined) held.resolve();
		else held.reject(error);
	}

	get waiting(): readonly string[] {
		return this.#held.map(({ call }) => call);
	}

	async register(definition: InstanceDefinition, health: InstanceHealth): Promise<string> {
		await this.#write(`register ${definition.id} ${health.status}`);
		this.known.set(definition.id, { definition, health });
		return `node/${definition.id}`;
	}

	async report(id: string, health: InstanceHealth): Promise<void> {
		await this.#write(`report ${id} ${health.status}`);
		const known = this.known.get(id);
		if (known === undefined) throw new SpockError('NO_SUCH_SERVICE', `unknown check ${id}`);
		this.known.set(id, { ...known, health });
	}

	async deregister(id: string): Promise<void> {
		await this.#write(`deregister ${id}`);
		this.known.delete(id);
	}

	/** Has the next question for earlier registrations wait. Returns a function that answers it. */
	holdOwned(): (found: readonly OwnedInstance[]) => void {
		let answer: (found: readonly OwnedInstance[]) => void = () => undefined;
		this.#owned = new Promise((resolve) => {
			answer = resolve;
		});
		return (found) => {
			this.found = found;
			answer(found);
		};
	}

	async owned(): Promise<readonly OwnedInstance[]> {
		const held = this.#owned;
		this.#owned = undefined;
		if (held !== undefined) return held;
		if (this.error !== undefined) throw this.error;
		return this.found;
	}

	async #write(call: string): Promise<void> {
		this.writes.push(call);
		if (this.error !== undefined) throw this.error;
		if (!this.holds) return;
		await new Promise<void>((resolve, reject) => this.#held.push({ call, resolve, reject }));
	}
}
