/** The invariants that the simulation holds the product to; docs/TESTING.md says what each means. */
export const INVARIANTS = [
	'settles once and in time',
	'answers reach their caller',
	'answers are what the registry had',
	'ages are true',
	'a known lookup goes on',
	'failures stay with whom they are of',
	'changes arrive',
	'nothing acknowledged is lost',
	'revisions never go back',
	'an empty answer is held back',
	'memory is bounded',
	'nothing leaks',
	'goaway is heeded',
	'silence is noticed',
	'a watch asks anew',
	'the life cycle ends',
	'no fault escapes',
	'errors are those that may come',
	'time and chance are given',
] as const;

export type Invariant = (typeof INVARIANTS)[number];

/** The product has broken a promise. */
export class Violation extends Error {
	readonly invariant: Invariant;

	constructor(invariant: Invariant, message: string) {
		super(message);
		this.name = 'Violation';
		this.invariant = invariant;
	}
}
