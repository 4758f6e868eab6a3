import type { StatusReply } from '@spock/protocol';

/** A registry that does not answer. */
export interface RegistryFailure {
	readonly name: string;
	readonly since: number | null;
	/** It answers, and has no leader. */
	readonly isLeaderless?: true;
}

/**
 * What fails for several services, keys or registrations at once, so that a page shows it once and a row only what is its own. `errors`: each text once,
 * those of the registries first; at most 5.
 */
export interface CommonFailure {
	/** The registries that do not answer, each with the time of its last answer in milliseconds since 1970; null before the first. */
	readonly registries: readonly RegistryFailure[];
	readonly errors: readonly string[];
	/** What apps get meanwhile: `apps get the last known answers`; empty where they get live ones. */
	readonly effect: string;
}

/** Texts beyond these stay in their rows. */
const ERRORS_MAX = 5;
/** An age is rounded, and a clock may jump: a difference below this is the same time. */
const SINCE_SLACK_MS = 1000;

/**
 * Finds it in a status that was taken at `at`, in milliseconds since 1970; null if nothing fails for several. `before`: what the last
 * status gave, whose times stay as they are while the outage lasts.
 */
export function commonFailureOf(
	{
		backend,
		watches,
		keyWatches,
		registrations,
	}: Pick<StatusReply, 'backend' | 'watches' | 'keyWatches' | 'registrations'>,
	at: number,
	before: CommonFailure | null = null,
): CommonFailure | null {
	const down = (backend.members ?? [backend]).filter(({ state }) => state === 'down');
	const counts = new Map<string, number>();
	for (const { error } of [...watches, ...(keyWatches ?? []), ...registrations]) {
		if (error !== null) counts.set(error, (counts.get(error) ?? 0) + 1);
	}
	const shared = [...counts].filter(([, count]) => count > 1).sort(([, left], [, right]) => right - left);
	const errors = new Set([...down.flatMap(({ error }) => error ?? []), ...shared.map(([error]) => error)]);
	if (errors.size === 0) return null;
	return {
		registries: down.map(({ name, lastSuccessAgeMs, addressStatus = [] }) => {
			const leaderless = addressStatus.filter(({ state }) => state === 'no-leader');
			const isLeaderless = leaderless.length > 0;
			const age = isLeaderless ? Math.max(...leaderless.map((one) => one.failingForMs ?? 0)) : lastSuccessAgeMs;
			const last = before?.registries.find((registry) => registry.name === name)?.since ?? null;
			const since = age === null ? null : Math.round(at - age);
			const same = since !== null && last !== null && Math.abs(since - last) < SINCE_SLACK_MS;
			return { name, since: same ? last : since, ...(isLeaderless && { isLeaderless }) };
		}),
		errors: [...errors].slice(0, ERRORS_MAX),
		effect: effectOf(watches),
	};
}

function effectOf(watches: StatusReply['watches']): string {
	const lastKnown = watches.filter(({ state }) => state === 'stale').length;
	const unanswered = watches.filter(({ state }) => state === 'cold').length;
	const some = lastKnown + unanswered < watches.length ? ` of ${lastKnown} of ${watches.length} services` : '';
	const known = lastKnown === 0 ? [] : [`apps get the last known answers${some}`];
	return [...known, ...(unanswered === 0 ? [] : [`${unanswered} of ${watches.length} services have no answer`])].join(
		'; ',
	);
}

/** The error that a row shows: null if it is shown once for all of them. */
export function ownError(error: string | null, failure: CommonFailure | null): string | null {
	return error !== null && failure?.errors.includes(error) === true ? null : error;
}

/** Who does not answer, since when, and what apps get: a sentence for people. Empty while every registry answers. */
export function outageSentence(failure: CommonFailure | null, time: (at: number) => string): string {
	if (failure === null || failure.registries.length === 0) return '';
	const who = failure.registries.map(({ name, since, isLeaderless }) => {
		if (isLeaderless && since !== null) return `${name} has no leader since ${time(since)}`;
		return since === null ? `${name} has not answered yet` : `${name} has not answered since ${time(since)}`;
	});
	return [who.join(', '), failure.effect].filter((part) => part !== '').join(': ');
}
