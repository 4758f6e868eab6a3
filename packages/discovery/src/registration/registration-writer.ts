import type { RegistrationReply, SpockError } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';

import type { InstanceDefinition, InstanceHealth, Registrar, RegistrationTerms } from '../foundation/registrar.ts';
import { RegistrationSync } from './registration-sync.ts';
import { RegistrationWaiters } from './registration-waiters.ts';
import { RegistryEntry } from './registry-entry.ts';

/** An instance is renewed this often within its time to live, so that two renewals may be lost. */
const REFRESHES_PER_TTL = 3;

/**
 * How a write ended. `removed`: it was deregistered. `lost`: the registry no longer knows it, and it is written again at once. `refused`: the
 * registry refused the first write for good.
 */
export type WriteOutcome = 'written' | 'removed' | 'lost' | 'failed' | 'refused';

/** What a {@link RegistrationWriter} needs of its registration. */
export interface RegistrationWriterOptions {
	readonly id: string;
	readonly registrar: Registrar;
	readonly terms: RegistrationTerms;
	readonly clock: Clock;
	readonly random?: Random | undefined;
	/** Undefined once something may be written; otherwise resolves then. */
	readonly known: () => Promise<void> | undefined;
	/** What is wanted now: it, its deregistration, or nothing any more. */
	readonly wanted: () => 'instance' | 'removal' | 'nothing';
	/** What must be written, unless it is a deregistration. */
	readonly content: () => { readonly definition: InstanceDefinition; readonly health: InstanceHealth };
	/** The state, as waiting calls receive it. */
	readonly reply: () => RegistrationReply;
	/** A write has ended: called before its waiting calls settle. */
	readonly ended: (error: SpockError | undefined) => void;
	/** Called after they have settled. */
	readonly settled: (outcome: WriteOutcome) => void;
	/** The registry has given it another name in snapshots than `from`. */
	readonly moved: (from: string) => void;
}

/** The writes of one registration, what the registry knows by them, and the calls that wait for them. */
export class RegistrationWriter {
	readonly #options: RegistrationWriterOptions;
	readonly #sync: RegistrationSync;
	readonly #waiters = new RegistrationWaiters();
	readonly #entry: RegistryEntry;
	/** Incremented with every change of the wanted state; waiting calls wait for the write of their version. */
	#version = 0;
	/** The write in flight, or the last one. */
	#written = { version: 0, isRemoval: false };

	constructor(options: RegistrationWriterOptions) {
		this.#options = options;
		const { clock, random, registrar, terms } = options;
		this.#entry = new RegistryEntry(registrar, terms);
		this.#sync = new RegistrationSync({
			clock,
			...(random && { random }),
			refreshMs: Math.max(1, Math.floor(terms.ttlMs / REFRESHES_PER_TTL)),
			write: () => this.#write(),
			settled: (error) => this.#settled(error),
		});
	}

	/** Its name in snapshots, as far as the registry has returned it. */
	get instance(): string | null {
		return this.#entry.instance;
	}

	/** True while the registry is assumed to know it. */
	get isKnown(): boolean {
		return this.#entry.isKnown;
	}

	/** True while nothing must be written. */
	get isSettled(): boolean {
		return this.#sync.state === 'in step' && this.#entry.isKnown;
	}

	/** True while the last write has failed, and the next one waits for its back-off. */
	get isBackingOff(): boolean {
		return this.#sync.state === 'backing off';
	}

	/** It was registered before this process started. Without a definition, everything is written again when the app is back. */
	found(instance: string | null, definition: InstanceDefinition | undefined): void {
		this.#entry.found(instance, definition);
	}

	/** Something else is wanted from now on. */
	change(): void {
		this.#version++;
	}

	/** Writes what is wanted; with `now` without waiting for the next retry. */
	want(now: boolean): void {
		this.#sync.want(now);
	}

	/** Settles when what is wanted now was written, or with the next failure. */
	waitForWrite(): Promise<RegistrationReply> {
		return this.#waiters.waitForWrite(this.#version);
	}

	/** Resolves when the registry no longer knows it. Rejects with ABORTED. */
	waitForRemoval(signal: AbortSignal | undefined): Promise<void> {
		return this.#waiters.waitForRemoval(signal);
	}

	/** Resolves the calls that wait for its end: it has come, or is wanted no longer. */
	endRemovals(): void {
		this.#waiters.removed();
	}

	/** Rejects all calls that wait. */
	refuse(error: SpockError): void {
		this.#waiters.refused(error);
	}

	/** Writes nothing from now on. A write in flight is not undone. */
	stop(): void {
		this.#sync.stop();
	}

	#write(): Promise<void> {
		const { known, wanted } = this.#options;
		const isRemoval = wanted() === 'removal';
		this.#written = { version: this.#version, isRemoval };
		const waiting = this.#entry.wasKnown ? undefined : known();
		if (waiting === undefined) return this.#writeEntry(isRemoval);
		// It may be another app's, as was found meanwhile.
		return waiting.then(() => (wanted() === 'nothing' ? undefined : this.#writeEntry(isRemoval)));
	}

	async #writeEntry(isRemoval: boolean): Promise<void> {
		const { id, content, moved } = this.#options;
		if (isRemoval) return this.#entry.remove(id);
		const { definition, health } = content();
		const from = this.instance;
		await this.#entry.write(definition, health);
		if (from !== null && this.instance !== null && from !== this.instance) moved(from);
	}

	#settled(error: SpockError | undefined): void {
		const { ended, settled, reply } = this.#options;
		ended(error);
		if (error === undefined) {
			this.#waiters.written(this.#written.version, reply());
			settled(this.#written.isRemoval ? 'removed' : 'written');
		} else if (error.code === 'NO_SUCH_SERVICE') {
			// It is registered again at once: calls that wait for this write wait for that one.
			this.#entry.lose();
			settled('lost');
		} else if (!error.retryable && !this.#entry.wasKnown) {
			this.#waiters.refused(error);
			settled('refused');
		} else {
			this.#waiters.failed(reply());
			if (!error.retryable) this.#waiters.refusedRemoval(error);
			settled('failed');
		}
	}
}
