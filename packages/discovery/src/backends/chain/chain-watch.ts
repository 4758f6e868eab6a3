import type { ServiceQuery, SpockError } from '@spock/protocol';
import { ageClockOf, type Clock, type TimerHandle } from '@spock/protocol/internal';

import type { Backend, BackendObserver, BackendWatch } from '../../foundation/backend.ts';
import { whileGood } from '../../foundation/good-instances.ts';
import { isSameList } from '../../foundation/snapshot-diff.ts';
import { type Answer, type ChainChoice, chooseMember } from './chain-choice.ts';

/** What a {@link ChainWatch} needs of its chain. */
export interface ChainWatchOptions {
	readonly members: readonly Backend[];
	readonly query: ServiceQuery;
	readonly observer: BackendObserver;
	readonly clock: Clock;
	/** How long a member may be silent before the next ones count. */
	readonly firstWordMs: number;
	/** How long a member that knew the service must report that it is gone before the next ones count. */
	readonly goneHoldMs: number;
	/** Whether this member knew the service when it was last asked. */
	readonly knew: (member: number) => boolean;
	/** Remembers that for later watches. */
	readonly remember: (member: number, knows: boolean) => void;
}

interface Member {
	/** Its place in the chain. */
	readonly number: number;
	readonly backend: Backend;
	watch: BackendWatch | undefined;
	/** Its last good answer. */
	answer: Answer | undefined;
	/** When that came. */
	answeredAtMs: number;
	error: SpockError | undefined;
	isLate: boolean;
	/** Runs while it reports that a service which it knew is gone. */
	goneTimer: TimerHandle | undefined;
}

/** Watches one query at all members of a chain, and passes on the answers of the first that knows the service. */
export class ChainWatch implements BackendWatch {
	readonly #options: ChainWatchOptions;
	readonly #members: Member[];
	#lateTimer: TimerHandle | undefined;
	#last: ChainChoice = { kind: 'waiting' };
	#isStarting = true;
	#stopped = false;

	constructor(options: ChainWatchOptions) {
		this.#options = options;
		this.#members = options.members.map((backend, number) => {
			return {
				number,
				backend,
				watch: undefined,
				answer: undefined,
				answeredAtMs: 0,
				error: undefined,
				isLate: false,
				goneTimer: undefined,
			};
		});
	}

	/** Starts a watch of every member. The observer may be called before this returns. Throws what a member's `watch` throws. */
	start(): void {
		const { query, observer, clock, firstWordMs } = this.#options;
		try {
			for (const member of this.#members) {
				const { backend } = member;
				// A member with only invalid entries knows no instance that a client could be sent to.
				const good = whileGood(backend.name, {
					answered: (...answer) => this.#answered(member, answer),
					failed: (error) => this.#failed(member, error),
					endIfUnread: () => observer.endIfUnread?.() ?? false,
				});
				member.watch = backend.watch(query, good);
			}
		} catch (error) {
			this.stop();
			throw error;
		}
		this.#isStarting = false;
		if (this.#members.some(isSilent)) {
			this.#lateTimer = clock.setTimeout(() => this.#late(), firstWordMs);
			this.#lateTimer.unref?.();
		}
		this.#decide();
	}

	/** A client has sent the query again: passed on to each member that prefers such queries. */
	used(): void {
		if (this.#stopped) return;
		for (const { watch } of this.#members) watch?.used?.();
	}

	/** Callers wait: passed on to each member. */
	retry(): void {
		if (this.#stopped) return;
		for (const { watch } of this.#members) watch?.retry?.();
	}

	stop(): void {
		if (this.#stopped) return;
		this.#stopped = true;
		const { clock } = this.#options;
		clock.clearTimeout(this.#lateTimer);
		for (const { watch, goneTimer } of this.#members) {
			watch?.stop();
			clock.clearTimeout(goneTimer);
		}
	}

	#answered(member: Member, answer: Answer): void {
		if (this.#stopped) return;
		const { clock, goneHoldMs } = this.#options;
		const atMs = ageClockOf(clock).now();
		member.error = undefined;
		if (answer[0].length > 0) {
			clock.clearTimeout(member.goneTimer);
			member.goneTimer = undefined;
			this.#accept(member, answer, atMs);
			return;
		}
		// Empty again: the hold continues, and the held answer is not verified.
		if (member.goneTimer !== undefined) return;
		if (!this.#isStandInKnown(member)) {
			this.#accept(member, answer, atMs);
			return;
		}
		// Another member would take over: a service that only restarts must not move between registries.
		member.goneTimer = clock.setTimeout(() => {
			member.goneTimer = undefined;
			if (!this.#stopped && member.error === undefined) this.#accept(member, answer, atMs);
		}, goneHoldMs);
		member.goneTimer.unref?.();
	}

	#accept(member: Member, answer: Answer, atMs: number): void {
		member.answer = answer;
		member.answeredAtMs = atMs;
		this.#options.remember(member.number, answer[0].length > 0);
		this.#decide(member.number);
	}

	#failed(member: Member, error: SpockError): void {
		if (this.#stopped) return;
		member.error = error;
		// Its empty answer before the failure is no longer confirmed: the hold starts again when it is back.
		this.#options.clock.clearTimeout(member.goneTimer);
		member.goneTimer = undefined;
		this.#decide(member.number);
	}

	#late(): void {
		for (const member of this.#members) if (isSilent(member)) member.isLate = true;
		this.#decide();
	}

	/** True if this member knew the service until now, and a later one knows it. */
	#isStandInKnown(member: Member): boolean {
		const later = this.#members.slice(member.number + 1);
		return knows(member) && later.some(knows);
	}

	/** Reports the chain's answer: if it has changed, or if the member that gave it has just given it again. */
	#decide(from?: number): void {
		if (this.#isStarting || this.#stopped) return;
		const choice = chooseMember(
			this.#members.map(({ answer, error, isLate }, number) => {
				return { answer, error, isLate, knew: this.#options.knew(number) };
			}),
		);
		const before = this.#last;
		if (choice.kind === 'waiting') return;
		if (choice.member !== from && isSameChoice(before, choice)) return;
		const { observer, clock } = this.#options;
		const { answeredAtMs, goneTimer } = this.#members[choice.member] as Member;
		// Its last answer is held, because it reports another one now: it must not be served as live.
		if (goneTimer !== undefined) return;
		this.#last = choice;
		if (choice.kind === 'failed') {
			observer.failed(choice.error);
			return;
		}
		// It may have arrived long before this member was chosen.
		const [instances, meta = { ageMs: 0 }] = choice.answer;
		const { ageMs, vouchedAgeMs, isUnconfirmed } = meta;
		const waitedMs = ageClockOf(clock).now() - answeredAtMs;
		// A member whose last answer was live has vouched for it since.
		const vouched = isUnconfirmed && vouchedAgeMs !== undefined && { vouchedAgeMs: vouchedAgeMs + waitedMs };
		observer.answered(instances, { ...meta, ageMs: ageMs + waitedMs, ...vouched });
	}
}

function knows({ answer }: Member): boolean {
	return (answer?.[0].length ?? 0) > 0;
}

function isSilent({ answer, error }: Member): boolean {
	return answer === undefined && error === undefined;
}

function isSameChoice(before: ChainChoice, now: ChainChoice): boolean {
	if (before.kind === 'answered' && now.kind === 'answered') return isSameList(before.answer[0], now.answer[0]);
	return before.kind === 'failed' && now.kind === 'failed' && isSameError(before.error, now.error);
}

/** The refusal of one member is made anew each time that it is reported as one that may pass. */
function isSameError(before: SpockError, now: SpockError): boolean {
	return before === now || (before.cause !== undefined && before.cause === now.cause && before.code === now.code);
}
