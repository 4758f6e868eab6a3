import type { Socket } from 'node:net';

import { type Listener, listen } from '../../server/listener.ts';
import type { Listening, ListenRequest, Question } from './worker-messages.ts';

/** The sockets that outlive workers: bound when the first one asks, given to every later one. */
export class Listeners {
	readonly #accept: (socket: Socket, listener: number) => void;
	readonly #acceptFailed: (error: Error) => void;
	/** `key` is undefined once it is closed: who asks for the same address again gets a new one. */
	readonly #listeners: { key: string | undefined; readonly listener: Listener }[] = [];

	/** `acceptFailed` is told each connection that could not be accepted; the listener goes on. */
	constructor(accept: (socket: Socket, listener: number) => void, acceptFailed: (error: Error) => void) {
		this.#accept = accept;
		this.#acceptFailed = acceptFailed;
	}

	/** Does what a worker asks. Rejects as `listen` does. */
	answer(question: Question): Promise<unknown> {
		if (question.ask === 'listen') return this.#listen(question.options);
		const found = this.#listeners[question.listener];
		if (found === undefined) return Promise.reject(new Error(`there is no listener ${question.listener}`));
		const { listener } = found;
		if (question.ask === 'close') {
			found.key = undefined;
			return listener.close();
		}
		const { place } = listener;
		if (place === undefined) return Promise.reject(new Error(`${listener.address} is no path`));
		return question.ask === 'publish' ? place.publish(question.how) : place[question.ask]();
	}

	/** Accepts nothing more. */
	async close(): Promise<void> {
		await Promise.all(this.#listeners.map(({ listener }) => listener.close()));
	}

	async #listen({ address, ...options }: ListenRequest): Promise<Listening> {
		const key = JSON.stringify(address);
		let index = this.#listeners.findIndex((one) => one.key === key);
		if (index === -1) {
			const own = this.#listeners.length;
			const accept = (socket: Socket): void => this.#accept(socket, own);
			const acceptFailed = this.#acceptFailed;
			const listener = await listen(address, { ...options, pauseOnConnect: true, accept, acceptFailed });
			this.#listeners.push({ key, listener });
			index = own;
		}
		const listener = this.#listeners[index]?.listener as Listener;
		return { listener: index, address: listener.address, hasPlace: listener.place !== undefined };
	}
}
