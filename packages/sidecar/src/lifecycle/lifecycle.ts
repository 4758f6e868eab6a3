import { type Clock, step, type TimerHandle } from '@spock/protocol/internal';

import {
	type LifecycleAction,
	type LifecycleEvent,
	type LifecycleState,
	lifecycleMachine,
} from './lifecycle-machine.ts';

/** The phases before a request to end. */
const FIRST_SIGNAL: ReadonlySet<LifecycleState> = new Set(['starting', 'serving', 'handing over', 'handed over']);

/** After the drain deadline clients are asked to leave; this many milliseconds later they are disconnected. */
const LAST_WORDS_MS = 1000;

/** After it was replaced: for this many milliseconds, clients that had connected before are still accepted, and sent goaway. */
const LINGER_MS = 100;

/** What a life cycle acts on. */
export interface LifecycleOptions {
	readonly clock: Clock;
	/** How long clients are served at least after a request to end, in milliseconds. */
	readonly graceMs: number;
	/** How long to wait for clients, in milliseconds after the request to end. */
	readonly drainTimeoutMs: number;
	readonly clients: () => number;
	/** Stops accepting, ends every connection when it has been answered, releases everything; then `allClosed`. */
	readonly closeAll: () => Promise<void>;
	readonly destroyAll: () => void;
	/** Asks every client to move to the successor. */
	readonly sendAway: () => void;
	/** Asks the clients that came by TCP to connect again. */
	readonly sendTcpAway: () => void;
	readonly phase: (state: LifecycleState) => void;
	/** Called once, at the very end. */
	readonly ended: (exitCode: 0 | 1) => void;
}

/** The phase of the process and its timers. */
export class Lifecycle {
	readonly #options: LifecycleOptions;
	#state: LifecycleState = 'starting';
	#graceTimer: TimerHandle | undefined;
	#deadlineTimer: TimerHandle | undefined;

	constructor(options: LifecycleOptions) {
		this.#options = options;
	}

	get state(): LifecycleState {
		return this.#state;
	}

	/** Reports an event; one without a meaning in this state changes nothing. */
	handle(event: LifecycleEvent): void {
		const { state, actions } = step(lifecycleMachine, this.#state, event);
		const isNew = state !== this.#state;
		this.#state = state;
		if (isNew) this.#options.phase(state);
		for (const action of actions) this.#act(action);
	}

	/** The first request to end drains; the second ends at once. */
	terminate(): void {
		this.handle(FIRST_SIGNAL.has(this.#state) ? 'terminate' : 'second signal');
	}

	#act(action: LifecycleAction): void {
		const { clock, graceMs, closeAll, destroyAll, sendAway, sendTcpAway, ended } = this.#options;
		switch (action) {
			case 'ready':
			case 'not ready':
				// Readiness follows from the state.
				return;
			case 'start the minimum grace':
				this.#startGrace(graceMs);
				return;
			case 'send clients away':
				sendAway();
				return;
			case 'send TCP clients away':
				sendTcpAway();
				return;
			case 'start the linger':
				this.#startGrace(LINGER_MS);
				return;
			case 'close all':
				clock.clearTimeout(this.#graceTimer);
				this.#armDeadline(LAST_WORDS_MS);
				closeAll().then(
					() => this.handle('all closed'),
					() => this.handle('second signal'),
				);
				return;
			case 'destroy all':
				clock.clearTimeout(this.#graceTimer);
				destroyAll();
				if (this.#state === 'stopping') this.#closeAfterDestroy();
				return;
			case 'flush':
				clock.clearTimeout(this.#deadlineTimer);
				return;
			case 'exit 0':
				ended(0);
				return;
			case 'exit 1':
				clock.clearTimeout(this.#graceTimer);
				clock.clearTimeout(this.#deadlineTimer);
				ended(1);
				return;
		}
	}

	/** `closeAll` is idempotent: after a destroy it waits for the same end. */
	#closeAfterDestroy(): void {
		this.#options.closeAll().then(
			() => this.handle('all closed'),
			() => this.handle('second signal'),
		);
	}

	#startGrace(graceMs: number): void {
		const { clock, drainTimeoutMs, clients } = this.#options;
		this.#armDeadline(drainTimeoutMs);
		this.#graceTimer = clock.setTimeout(() => {
			this.handle(clients() === 0 ? 'grace over, no clients' : 'grace over, clients');
		}, graceMs);
	}

	#armDeadline(delayMs: number): void {
		const { clock } = this.#options;
		clock.clearTimeout(this.#deadlineTimer);
		this.#deadlineTimer = clock.setTimeout(() => this.handle('drain deadline'), delayMs);
	}
}
