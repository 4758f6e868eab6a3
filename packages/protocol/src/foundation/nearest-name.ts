/** Names that are looked at; those behind them are not offered. */
export const NEAREST_NAMES_MAX = 10_000;
/** Letters that may be wrong, missing or too many. */
const DISTANCE_MAX = 2;
/** A name that is so short begins too many others. */
const PREFIX_LENGTH_MIN = 3;

/** What to do about an unknown name, for the end of a message: the name that was most likely meant, or all of them. */
export function nameHint(name: string, known: readonly string[]): string {
	const meant = nearestName(name, known);
	return meant === undefined ? `expected one of: ${known.join(', ')}` : `did you mean ${JSON.stringify(meant)}?`;
}

/**
 * The name that was most likely meant by an unknown one: it differs in two letters at most, or else one begins with the other; case is
 * ignored. Undefined if no name is near. Takes time in proportion to the number of names.
 */
export function nearestName(name: string, names: readonly string[]): string | undefined {
	const wanted = name.toLowerCase();
	let nearest: string | undefined;
	// Of a word of two or three letters another one is left when two are changed.
	let distance = Math.min(DISTANCE_MAX, Math.floor(wanted.length / 2)) + 1;
	let begun: string | undefined;
	for (const other of names.slice(0, NEAREST_NAMES_MAX)) {
		const candidate = other.toLowerCase();
		const found = distanceBelow(wanted, candidate, distance);
		if (found !== undefined) {
			nearest = other;
			distance = found;
		}
		if (begun === undefined && isPrefix(wanted, candidate)) begun = other;
	}
	return nearest ?? begun;
}

function isPrefix(name: string, other: string): boolean {
	const [short, long] = name.length < other.length ? [name, other] : [other, name];
	return short.length >= PREFIX_LENGTH_MIN && long.startsWith(short);
}

/** The letters to change, add or take away until one is the other, if they are fewer than this: only so near the diagonal is looked. */
function distanceBelow(name: string, other: string, limit: number): number | undefined {
	if (Math.abs(name.length - other.length) >= limit) return undefined;
	let row = new Map<number, number>();
	for (let to = 0; to < limit; to++) row.set(to, to);
	for (let at = 1; at <= name.length; at++) {
		const next = new Map<number, number>();
		for (let to = Math.max(0, at - limit); to <= Math.min(other.length, at + limit); to++) {
			const changed = (row.get(to - 1) ?? limit) + (name[at - 1] === other[to - 1] ? 0 : 1);
			const value = Math.min(changed, (row.get(to) ?? limit) + 1, (next.get(to - 1) ?? limit) + 1);
			if (value < limit) next.set(to, value);
		}
		if (next.size === 0) return undefined;
		row = next;
	}
	return row.get(other.length);
}
