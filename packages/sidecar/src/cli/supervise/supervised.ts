import type { Socket } from 'node:net';

import type { SupervisionStatus } from '@spock/protocol';

import type { Listen, Listener, PlaceOutcome } from '../../server/listener.ts';
import { createTlsServer } from '../../server/tls-server.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { tlsIntake } from './tls-intake.ts';
import type { Listening, Question, ToSupervisor, ToWorker } from './worker-messages.ts';

interface Waiting {
	resolve(value: unknown): void;
	reject(error: Error): void;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The worker's side of a supervisor: sockets come from there. */
export class Supervised {
	readonly supervision: SupervisionStatus;
	/** Told when the supervisor is gone: nobody new can connect. */
	lost: () => void = () => undefined;
	/** Told of each SIGTERM and SIGINT: those of the supervisor, and this process's own once the supervisor is gone. */
	signalled: (signal: NodeJS.Signals) => void = dieOf;
	readonly #accept = new Map<number, (socket: Socket) => void>();
	readonly #waiting = new Map<number, Waiting>();
	/** Came by a listener that this worker has not asked for yet. */
	#early: { readonly socket: Socket; readonly listener: number }[] = [];
	#nextId = 1;

	private constructor(supervision: SupervisionStatus) {
		this.supervision = supervision;
		process.on('message', this.#onMessage);
		process.once('disconnect', this.#onDisconnect);
		for (const signal of SIGNALS) process.on(signal, this.#onSignal);
	}

	/** Waits to be activated; undefined when the supervisor has no use for this process any more. */
	static activated(): Promise<Supervised | undefined> {
		if (process.send === undefined) {
			throw new CommandError(EXIT.usage, '--supervised is for workers of `sidecar start --supervise` alone');
		}
		return new Promise((resolve) => {
			const settle = (supervised: Supervised | undefined): void => {
				process.off('message', onMessage);
				process.off('disconnect', onDisconnect);
				for (const signal of SIGNALS) process.off(signal, ignore);
				resolve(supervised);
			};
			const onDisconnect = (): void => settle(undefined);
			const onMessage = (message: unknown): void => {
				const told = message as ToWorker;
				if (told.type === 'activate') settle(new Supervised(told.supervision));
			};
			process.on('message', onMessage);
			process.on('disconnect', onDisconnect);
			for (const signal of SIGNALS) process.on(signal, ignore);
			process.send?.({ type: 'loaded' } satisfies ToSupervisor, undefined, undefined, () => undefined);
		});
	}

	/** As `listen` of a process of its own; the socket is the supervisor's. */
	readonly listen: Listen = async (address, { accept: take, tls, ...options }): Promise<Listener> => {
		// The supervisor passes on bytes: keys and certificates stay in the worker.
		const secure = tls && (await createTlsServer({ ...tls, accept: take }));
		const accept = secure && tls ? tlsIntake(secure.server, tls) : take;
		const asked = this.#ask({ ask: 'listen', options: { address, ...options } }) as Promise<Listening>;
		const {
			listener,
			address: bound,
			hasPlace,
		} = await asked.catch((error: unknown) => {
			secure?.stop();
			throw error;
		});
		this.#accept.set(listener, accept);
		this.#tell({ type: 'accepting' });
		for (const { socket } of this.#early.filter((one) => one.listener === listener)) accept(socket);
		this.#early = this.#early.filter((one) => one.listener !== listener);
		// Nobody can be asked any more when the supervisor has gone, and then nothing listens.
		const close = (): Promise<void> => {
			secure?.stop();
			return this.#ask({ ask: 'close', listener }).then(
				() => undefined,
				() => undefined,
			);
		};
		const name = tls === undefined ? bound : `tls://${bound}`;
		if (!hasPlace) return { address: name, close };
		const place = {
			isReplaced: () => this.#ask({ ask: 'isReplaced', listener }) as Promise<boolean>,
			publish: (how: 'replace' | 'if free') => this.#ask({ ask: 'publish', listener, how }) as Promise<void>,
			restore: () => this.#ask({ ask: 'restore', listener }) as Promise<PlaceOutcome>,
		};
		return { address: name, close, place };
	};

	/** It listens everywhere, and serves. */
	serving(): void {
		this.#tell({ type: 'serving' });
	}

	/** Another sidecar has the place. */
	replaced(): void {
		this.#tell({ type: 'replaced' });
	}

	/** Lets the process end. */
	close(): void {
		process.off('message', this.#onMessage);
		process.off('disconnect', this.#onDisconnect);
		for (const signal of SIGNALS) process.off(signal, this.#onSignal);
		if (process.connected) process.disconnect();
	}

	readonly #onMessage = (message: unknown, socket: unknown): void => {
		const told = message as ToWorker;
		switch (told.type) {
			case 'ping':
				this.#tell({ type: 'pong' });
				return;
			case 'socket':
				this.#take(told.listener, socket as Socket | undefined);
				return;
			case 'signal':
				this.signalled(told.signal);
				return;
			case 'answer':
				this.#settle(told.id)?.resolve(told.value);
				return;
			case 'refusal':
				this.#settle(told.id)?.reject(new Error(told.message, { cause: { code: told.code } }));
				return;
			case 'activate':
				return;
		}
	};

	readonly #onDisconnect = (): void => {
		for (const { reject } of this.#waiting.values()) reject(new Error('the supervisor is gone'));
		this.#waiting.clear();
		this.lost();
	};

	/** A signal to a whole group comes here too, and then once more from the supervisor. */
	readonly #onSignal = (signal: NodeJS.Signals): void => {
		if (!process.connected) this.signalled(signal);
	};

	#take(listener: number, socket: Socket | undefined): void {
		this.#tell({ type: 'taken' });
		// Its client may have gone on the way.
		if (socket === undefined || socket === null) return;
		socket.allowHalfOpen = true;
		const accept = this.#accept.get(listener);
		if (accept === undefined) this.#early.push({ socket, listener });
		else accept(socket);
	}

	#ask(question: Question): Promise<unknown> {
		const id = this.#nextId++;
		return new Promise((resolve, reject) => {
			this.#waiting.set(id, { resolve, reject });
			if (process.connected) this.#tell({ type: 'question', id, question });
			else this.#settle(id)?.reject(new Error('the supervisor is gone'));
		});
	}

	#settle(id: number): Waiting | undefined {
		const waiting = this.#waiting.get(id);
		this.#waiting.delete(id);
		return waiting;
	}

	#tell(message: ToSupervisor): void {
		// A supervisor that is gone is told by `disconnect`.
		if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
	}
}

/** Does what a signal does that nobody handles. */
function dieOf(signal: NodeJS.Signals): void {
	process.removeAllListeners(signal);
	process.kill(process.pid, signal);
}

function ignore(): void {
	// The supervisor decides what becomes of a worker that is not activated yet.
}
