import { SpockError } from '@spock/protocol';
import { Backoff, type Clock, type MachineTable, type Random, step, type TimerHandle } from '@spock/protocol/internal';

export type SyncState = 'in step' | 'writing' | 'outdated' | 'backing off' | 'stopped';
export type SyncEvent = 'wanted' | 'wanted now' | 'written' | 'lost' | 'failed' | 'due' | 'stop';
export type SyncAction = 'write' | 'reset retries' | 'schedule refresh' | 'schedule retry' | 'cancel timer';

/**
 * The writes of one registration: one at a time, and only the newest state. A write is never aborted for the next one, because the
 * registry may still carry out an aborted request, and a registration that overtakes its deregistration would stay.
 *
 * `wanted`: something new must be written; `wanted now`: without waiting for the next retry. `lost`: the registry no longer knows
 * the instance, and everything is written again. In `in step`, `due` renews the time to live.
 */
export const registrationSyncMachine: MachineTable<SyncState, SyncEvent, SyncAction> = {
	'in step': {
		wanted: ['writing', 'cancel timer', 'write'],
		'wanted now': ['writing', 'cancel timer', 'write'],
		due: ['writing', 'write'],
		stop: ['stopped', 'cancel timer'],
	},
	writing: {
		wanted: ['outdated'],
		'wanted now': ['outdated'],
		written: ['in step', 'reset retries', 'schedule refresh'],
		lost: ['writing', 'write'],
		failed: ['backing off', 'schedule retry'],
		stop: ['stopped'],
	},
	outdated: {
		written: ['writing', 'reset retries', 'write'],
		lost: ['writing', 'write'],
		failed: ['backing off', 'schedule retry'],
		stop: ['stopped'],
	},
	'backing off': {
		'wanted now': ['writing', 'cancel timer', 'write'],
		due: ['writing', 'write'],
		stop: ['stopped', 'cancel timer'],
	},
	stopped: {},
};

/** The first delay after a failed write; it doubles, with full jitter. */
const RETRY_DELAY_MS_MIN = 250;

/** What a {@link RegistrationSync} acts on. */
export interface RegistrationSyncOptions {
	readonly clock: Clock;
	readonly random?: Random;
	/** How often a registration in step is renewed, and the longest delay between retries; milliseconds. */
	readonly refreshMs: number;
	/** Writes the wanted state. Rejects with NO_SUCH_SERVICE if the registry has lost the instance. */
	readonly write: () => Promise<void>;
	/** Called when a write has ended, before its consequences. */
	readonly settled: (error: SpockError | undefined) => void;
}

/** Keeps the registry in step with the wanted state of one registration. Decisions are in {@link registrationSyncMachine}. */
export class RegistrationSync {
	readonly #options: RegistrationSyncOptions;
	readonly #backoff: Backoff;
	#state: SyncState = 'in step';
	#timer: TimerHandle | undefined;

	constructor(options: RegistrationSyncOptions) {
		this.#options = options;
		const { refreshMs: delayMsMax, random } = options;
		const delayMsMin = Math.min(RETRY_DELAY_MS_MIN, delayMsMax);
		this.#backoff = new Backoff({ delayMsMin, delayMsMax, ...(random && { random }) });
	}

	get state(): SyncState {
		return this.#state;
	}

	/** Something new must be written; with `now` it does not wait for the next retry. */
	want(now: boolean): void {
		this.#handle(now ? 'wanted now' : 'wanted');
	}

	/** Writes nothing from now on. A write in flight is not undone. */
	stop(): void {
		this.#handle('stop');
	}

	#handle(event: SyncEvent): void {
		const { state, actions } = step(registrationSyncMachine, this.#state, event);
		this.#state = state;
		for (const action of actions) this.#act(action);
	}

	#act(action: SyncAction): void {
		switch (action) {
			case 'write':
				this.#write();
				return;
			case 'reset retries':
				this.#backoff.reset();
				return;
			case 'schedule refresh':
				this.#arm(this.#options.refreshMs);
				return;
			case 'schedule retry':
				this.#arm(this.#backoff.next());
				return;
			case 'cancel timer':
				this.#options.clock.clearTimeout(this.#timer);
				return;
		}
	}

	#arm(delayMs: number): void {
		this.#timer = this.#options.clock.setTimeout(() => this.#handle('due'), delayMs);
		this.#timer.unref?.();
	}

	#write(): void {
		this.#options.write().then(
			() => this.#settle(undefined, 'written'),
			(reason: unknown) => {
				const error = SpockError.from(reason);
				this.#settle(error, error.code === 'NO_SUCH_SERVICE' ? 'lost' : 'failed');
			},
		);
	}

	#settle(error: SpockError | undefined, event: SyncEvent): void {
		if (this.#state === 'stopped') return;
		this.#options.settled(error);
		this.#handle(event);
	}
}
