import type { Invariant } from './violation.ts';

/** The names of what goes wrong on purpose. */
export type Plant =
	| 'an older word wins'
	| 'two questions have one answer'
	| 'an instance of nobody is among the answers';

/**
 * What goes wrong on purpose, by an option and not in the product's text: what lies around the product breaks what the product is held
 * to, so that each check is seen to fail. With the promise that is broken, and a seed that finds it.
 */
export const PLANTS: Readonly<Record<Plant, { readonly invariant: Invariant; readonly seed: number }>> = {
	'an older word wins': { invariant: 'nothing acknowledged is lost', seed: 5 },
	'two questions have one answer': { invariant: 'answers are what the registry had', seed: 3 },
	'an instance of nobody is among the answers': { invariant: 'answers reach their caller', seed: 176 },
};

/** The fault of this name; throws for a name that there is not. */
export function plantOf(name: string): Plant {
	if (Object.hasOwn(PLANTS, name)) return name as Plant;
	throw new RangeError(`no planted fault is called ${name}; there are ${Object.keys(PLANTS).join(', ')}`);
}
