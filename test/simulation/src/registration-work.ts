import type { ErrorCode } from '@spock/protocol';
import { hostileName, oddName } from '@spock/testkit/hostile';

import { mayFail } from './expected-error.ts';
import type { Claimed, SimClient, Word } from './sim-client.ts';

const STATUSES: readonly Word['status'][] = ['passing', 'warning', 'critical'];
const OWN_MAX = 3;
/** An app that could not deregister so many stays with them: all apps of a pod share one connection, which may register 64. */
const STAYED_MAX = 8;
const SHARED_PORT = 30_000;

/** What an app does with the registrations of its instances: its own, and one that all workers of its host share. */
export class RegistrationWork {
	readonly #client: SimClient;
	/** What was not deregistered because the request was refused: it stays registered, and the app does not try again. */
	readonly #stayed = new Set<string>();

	constructor(client: SimClient) {
		this.#client = client;
	}

	register(): void {
		const { random, claimed, host, process } = this.#client;
		if (random.chance(0.3)) {
			this.#register(host.sharedId, SHARED_PORT, ['shared']);
			return;
		}
		if (claimed.size >= OWN_MAX || this.#stayed.size >= STAYED_MAX) return;
		const port = random.between(20_000, 20_999);
		this.#register(`app-${process.id}-${port}`, port, random.chance(0.2) ? [oddName(random.unit)] : []);
	}

	report(): void {
		const one = this.#any();
		if (one !== undefined && !this.#client.world.isCalm) this.#report(one);
	}

	/** Several words in a row, none of which waits for the one before: the last one counts, also where the connection goes. */
	reports(): void {
		const { host, process, random, world } = this.#client;
		const one = this.#any();
		// What was said last in a storm must be what is believed after it: a word in the calm would hide what became of that.
		if (one === undefined || world.isCalm) return;
		const count = random.between(2, 12);
		for (let number = 0; number < count; number++) this.#report(one);
		if (random.chance(0.7)) return;
		process.schedule(random.unit() * 2, 'cut between words', () => {
			if (!world.isCalm) world.network.cut(host.address, 1);
		});
	}

	deregister(): void {
		const one = this.#any();
		if (one !== undefined) this.#deregister(one);
	}

	/** Out and in again at once, as an app that is configured anew: the last word is that it is there. */
	bounce(): void {
		const one = this.#any();
		if (one === undefined) return;
		this.#deregister(one);
		this.#register(one.id, one.port, one.tags);
	}

	#any(): Claimed | undefined {
		return this.#client.random.pick([...this.#client.claimed.values()]);
	}

	#register(id: string, port: number, tags: readonly string[]): void {
		const { book, claimed, diplomat, options, unsure, underWay } = this.#client;
		const { registering } = underWay;
		if (claimed.has(id) || registering.has(id)) return;
		registering.add(id);
		book.call(
			{
				what: `register ${id}`,
				timeoutMs: options.timeoutMs,
				answered: (registration) => {
					registering.delete(id);
					claimed.set(id, { id, port, tags, said: [{ status: 'passing' }], registration });
				},
				mayFail: (code) => {
					// It may have been done all the same, and the answer was lost.
					unsure.add(id);
					registering.delete(id);
					return this.#mayFail(code);
				},
			},
			() => diplomat.register({ service: 'app', id, host: '10.0.0.1', port, tags }),
		);
	}

	#report(one: Claimed): void {
		const { random, book, options } = this.#client;
		const word: Word = { status: random.pick(STATUSES) };
		// A stack trace is longer than a note may be: it is refused, and nothing of it remembered.
		const note = random.chance(0.1) ? hostileName(random.unit) : undefined;
		const { said } = one;
		said.push(word);
		book.call(
			{
				what: `report ${one.id} ${word.status}`,
				timeoutMs: options.timeoutMs,
				// What was said before it counts no longer, also where the answer to that was lost.
				answered: () => said.splice(0, Math.max(0, said.indexOf(word))),
				mayFail: (code) => {
					const isRefused = code === 'BAD_REQUEST' && note !== undefined;
					if (isRefused && said.includes(word)) said.splice(said.indexOf(word), 1);
					return isRefused || this.#holdsNothing(one.id, code) || this.#mayFail(code);
				},
			},
			() => one.registration.report(word.status, note),
		);
	}

	#deregister(one: Claimed): void {
		const { book, claimed, options, unsure, underWay } = this.#client;
		const { deregistering } = underWay;
		claimed.delete(one.id);
		deregistering.add(one.id);
		book.call(
			{
				what: `deregister ${one.id}`,
				timeoutMs: options.timeoutMs,
				answered: () => deregistering.delete(one.id),
				mayFail: (code) => {
					deregistering.delete(one.id);
					unsure.add(one.id);
					if (code === 'OVERLOADED') this.#stayed.add(one.id);
					return this.#holdsNothing(one.id, code) || this.#mayFail(code);
				},
			},
			() => one.registration.drain(),
		);
	}

	/**
	 * What is said of a registration that is being left may be sent again on a connection that does not hold it: nobody has it there,
	 * or another worker alone.
	 */
	#holdsNothing(id: string, code: ErrorCode): boolean {
		return code === 'NO_SUCH_SERVICE' || (code === 'ACL_DENIED' && id === this.#client.host.sharedId);
	}

	#mayFail(code: ErrorCode): boolean {
		return mayFail(this.#client, code);
	}
}
