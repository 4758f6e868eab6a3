import { isObject } from './is-object.ts';
import type { KeyQuery } from './key-model.ts';
import type { ServiceQuery } from './model.ts';
import { SpockError } from './spock-error.ts';

/** How a sidecar is told by the one that takes its place, on one connection from the first step to the last. */
export interface TakeOverData {
	/**
	 * `begin`: somebody is about to take the place; nothing changes. `finish`: its socket stands at the path now, which the
	 * sidecar looks at before it believes it.
	 */
	readonly step: 'begin' | 'finish';
}

/** What the next sidecar should know before anybody is sent to it: every question that has an answer here. */
export interface TakeOverReply {
	readonly services: readonly ServiceQuery[];
	readonly keys: readonly KeyQuery[];
}

/** Checks the data of `takeOver`; throws BAD_REQUEST, whose `details.path` names the wrong member. */
export function validateTakeOver(data: unknown): TakeOverData {
	const step = isObject(data) ? data['step'] : undefined;
	if (step === 'begin' || step === 'finish') return { step };
	const path = isObject(data) ? 'step' : '';
	const message = isObject(data) ? 'data.step must be begin or finish' : 'data must be an object';
	throw new SpockError('BAD_REQUEST', message, { details: { path } });
}
